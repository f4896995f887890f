"""The table that pytest prints of the verdicts it has asked for.

Each verdict takes a run of TensorFlow of some twenty seconds, on a machine with
nothing else to do: all of them are marked slow. `pytest -m slow -k serial_map` runs
one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verdicts.truth import Truth, Verdict, as_markdown, confusion

OUTCOMES = pytest.StashKey[list[tuple[Truth, Verdict | None]]]()


def note(config: pytest.Config, truth: Truth, verdict: Verdict | None) -> None:
    config.stash.setdefault(OUTCOMES, []).append((truth, verdict))


def print_table(terminal: pytest.TerminalReporter, folder: Path) -> None:
    """The confusion table of one folder's verdicts, where any were asked for."""
    outcomes = terminal.config.stash.get(OUTCOMES, [])
    rows = confusion(each for each in outcomes if each[0].script.parent == folder)
    if rows:
        terminal.section(f"verdicts on {folder.name}: planted and named first")
        terminal.write_line(as_markdown(rows))
