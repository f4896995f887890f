"""Reports written by hand, and reports drawn at random."""

from __future__ import annotations

from dataclasses import is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from feedline.report.report import (
    SHARES,
    FindingRow,
    LineRow,
    MachineRow,
    Report,
    RunRow,
    StageRow,
    StepRow,
)


def sample(**changes: Any) -> Report:
    """A job whose map runs on one core. The numbers are made up."""
    values: dict[str, Any] = {
        "version": "0.1.0",
        "machine": MachineRow(2, 24.0, ("CPU:0",)),
        "step": StepRow(84.2, 9.1, 75.0, 32, 120, (82.9, 85.6), 10.9, (9.0, 9.2)),
        "shares": {"input": 0.87, "transfer": 0.02, "overhead": 0.06, "compute": 0.05},
        "bound": "input",
        "run": RunRow(
            8.1, 10.2, 1.4, 55.0, (LineRow("train.py:12", 7.9, "text = clean(raw)"),)
        ),
        "verdict": "The model waits for input 87 % of the time: train.py:41 "
        "`map(load)`: a map runs on one core.",
        "stages": (
            StageRow("list_files", "train.py:40", 0.01, 0.01, 120.0, 0.3, 1),
            StageRow(
                "map", "train.py:41", 2.1, 0.92, 602112.0, 67.0, 1, "", "map(load)"
            ),
            StageRow("batch", "train.py:42", 9.0, 0.07, 19267584.0, 9.0, 1),
        ),
        "findings": (
            FindingRow(
                "serial-map",
                "train.py:41",
                61.0,
                "map(load) takes 67 ms of CPU time for each step on one of 2 cores.",
                ("parallel-map",),
                "A map runs on one core",
                "images = files.map(load)",
            ),
            FindingRow("no-prefetch", "train.py:42", 8.0, "Nothing works ahead.", ()),
        ),
        "seconds": 41.0,
        "script": "train.py",
        "loop": "fit at train.py:60",
        "unknown": ("the overhead: only one batch size was tried",),
    }
    return Report(**{**values, **changes})


_texts = st.text(max_size=30) | st.sampled_from(
    ["[red]x[/red]", "/a/long/path" * 20, "\x1b[2J", "\ud800", "日本語" * 20, "a\nb"]
)


@st.composite
def _shares(draw: st.DrawFn) -> dict[str, float]:
    parts = draw(st.lists(st.integers(0, 1000), min_size=4, max_size=4))
    parts[draw(st.integers(0, 3))] += 1
    return {n: p / sum(parts) for n, p in zip(SHARES, parts, strict=True)}


# Fields whose type says less than the schema does.
_NAMED: dict[str, st.SearchStrategy[Any]] = {
    "schema": st.just(1),
    "basis": st.none(),
    "shares": _shares(),
    "bound": st.sampled_from(SHARES),
    "verdict": st.text(min_size=1),
    "cause": st.from_regex(r"[a-z][a-z0-9-]{0,30}", fullmatch=True),
    "grade": st.sampled_from(["exact", "reordered", "numeric", "advice"]),
}

_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    float: st.floats(min_value=0, max_value=1e12),
    int: st.integers(1, 10**9),
    str: _texts,
    bool: st.booleans(),
}


def _drawn(kind: Any) -> st.SearchStrategy[Any]:
    """Anything that the annotation `kind` of a report's row allows."""
    args = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return st.none() | _drawn(next(a for a in args if a is not type(None)))
    if get_origin(kind) is tuple and args[-1] is Ellipsis:
        return st.lists(_drawn(args[0]), max_size=3).map(tuple)
    if get_origin(kind) is tuple:
        return st.tuples(*map(_drawn, args))
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        fields = {
            name: _NAMED[name] if name in _NAMED else _drawn(hint)
            for name, hint in hints.items()
        }
        return st.builds(kind, **fields)
    return _PLAIN[float if issubclass(kind, float) else kind]


def reports() -> st.SearchStrategy[Report]:
    """Any report that can be built: every field of every row is drawn."""
    return _drawn(Report)
