"""Which verdicts a plain `pytest` asks for, and the table it prints of them.

Each takes a run of TensorFlow of some twenty seconds, alone on the machine. A few
of different kinds belong to the default tests; `pytest -m slow` runs them all, and
naming one (`-k serial_map`, `test_verdicts.py::test_verdict[serial_map]`) runs it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verdicts.truth import Truth, Verdict, as_markdown, confusion

OUTCOMES = pytest.StashKey[list[tuple[Truth, Verdict | None]]]()


def choose(
    config: pytest.Config,
    items: list[pytest.Item],
    folder: Path,
    default: frozenset[str],
) -> None:
    """Mark and deselect the verdicts of one folder; other tests are left alone."""
    expression = config.option.markexpr
    all_of_them = "slow" in expression and "not slow" not in expression
    by_name = bool(config.option.keyword) or any("::" in arg for arg in config.args)
    left_out = []
    for item in items:
        truth = getattr(item, "callspec", None) and item.callspec.params.get("truth")
        asked = item.get_closest_marker("tensorflow") is not None
        if truth is None or not asked or folder not in item.path.parents:
            continue
        if all_of_them or truth.name not in default:
            item.add_marker(pytest.mark.slow)
        if not expression and not by_name and truth.name not in default:
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def note(config: pytest.Config, truth: Truth, verdict: Verdict | None) -> None:
    config.stash.setdefault(OUTCOMES, []).append((truth, verdict))


def print_table(terminal: pytest.TerminalReporter, folder: Path) -> None:
    """The confusion table of one folder's verdicts, where any were asked for."""
    outcomes = terminal.config.stash.get(OUTCOMES, [])
    rows = confusion(each for each in outcomes if each[0].script.parent == folder)
    if rows:
        terminal.section(f"verdicts on {folder.name}: planted and named first")
        terminal.write_line(as_markdown(rows))
