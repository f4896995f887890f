"""Reports for the page: cured, captured, of many stages, and hostile ones."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from feedline.report.report import (
    AfterRow,
    FixRow,
    PartRow,
    ProofRow,
    Report,
    SpanRow,
    StageRow,
    Timeline,
    TimelineRow,
    TraceRow,
)
from tests.report.samples import sample

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    "\"'`&{{ 7 * 7 }}{% raw %}\u2028\u2029\u202egpj.exe\ud800\x00\x1b[2J]]><!--"
)


def stages() -> tuple[StageRow, ...]:
    source = StageRow(
        "list_files", "train.py:40", 0.01, 0.01, 120.0, 0.3, code='list_files("*.jpg")'
    )
    load = StageRow(
        "map", "train.py:41", 2.1, 0.92, 602112.0, 67.0, code="files.map(load)"
    )
    batch = StageRow(
        "batch", "train.py:42", 9.0, 0.07, 19267584.0, 9.0, code="images.batch(32)"
    )
    return (
        replace(source, label="list_files()", inputs=()),
        replace(load, label="map(load)", inputs=(0,)),
        replace(batch, label="batch(32)", inputs=(1,)),
    )


def measured(**changes: Any) -> Report:
    """As `why` gives it, with what the model needs. The numbers are made up."""
    report = sample(stages=stages())
    step = replace(report.step, overhead_ms=5.0, cpu_ms=12.0)
    run = replace(report.run, epochs=20, steps_per_epoch=100, epoch_start_s=0.2)
    return replace(report, **{"step": step, "run": run, **changes})


def cured(**changes: Any) -> Report:
    """As `run` gives it: a cache and a prefetch are applied."""
    source, load, batch = stages()
    after = (
        source,
        replace(load, ms_per_step=0.0, first_ms_per_step=67.0),
        batch,
        StageRow(
            "prefetch", None, 0.0, 0.0, 0.0, label="prefetch", ahead=True, added=True
        ),
    )
    where, code = "train.py:41", "files.map(load)"
    fixes = (
        FixRow("cache", "exact", 4.1, 3.9, (3.4, 4.3), True, where, code, "Kept"),
        FixRow("prefetch", "exact", 1.3, 1.21, (1.15, 1.28), True),
        FixRow(
            *("vectorize-map", "exact", 2.4, 0.98, (0.9, 1.06), False, where, code),
            reason="not measured faster",
        ),
        FixRow("unordered", "reordered", None, None, None, False, reason="not allowed"),
    )
    shares = {"input": 0.05, "transfer": 0.17, "overhead": 0.4, "compute": 0.38}
    values: dict[str, Any] = {
        "fixes": fixes,
        "after": AfterRow(
            *(10.4, 8.1, (7.6, 8.7), 84.0, 2000, 21.0, 147.0, 34.0),
            *(9.1, shares, after),
        ),
        "proof": ProofRow("exact", 512, 1, 8, "512 batches compared bit for bit"),
    }
    return measured(**{**values, **changes})


def captured(**changes: Any) -> Report:
    """As `trace` gives it: no stages, no fixes, but a timeline."""
    rows: dict[str, list[SpanRow]] = {"host": [], "copies": [], "GPU:0": []}
    ends = []
    for step in range(4):
        at = step * 84.0
        rows["host"] += [
            SpanRow(at, at + 60, "input", "Iterator::Prefetch"),
            SpanRow(at + 60, at + 62, "launch", "train_step"),
            SpanRow(at + 82, at + 84, "python", "on_batch_end"),
        ]
        rows["copies"].append(SpanRow(at + 61, at + 62.5, "copy-in"))
        rows["GPU:0"] += [
            SpanRow(at + 63 + i * 0.6, at + 63.5 + i * 0.6, "compute", f"kernel {i}")
            for i in range(30)
        ]
        ends.append((at, at + 84))
    lanes = tuple(TimelineRow(name, tuple(spans)) for name, spans in rows.items())
    values: dict[str, Any] = {
        "stages": (),
        "timeline": Timeline(lanes, tuple(ends)),
        "trace": TraceRow(
            *("logs/x.xplane.pb", (PartRow("input", 1.0, 60.0, "input"),)),
            *(0.05, 0.3, ("GPU:0",), 4),
        ),
        "proof": ProofRow("observed", 0, 0, text="nothing was tried"),
    }
    return sample(**{**values, **changes})


def wide(count: int = 25) -> Report:
    """Many stages, with long names and lines, and a join."""
    made = []
    for i in range(count):
        inputs = {0: (), 10: (), 20: (9, 19)}.get(i, (i - 1,))
        code = f"dataset = dataset.map(some_long_function_name_{i}, " * 3
        made.append(
            StageRow(
                *(f"map({i})", f"a_rather_long_module_name_{i}.py:{i}"),
                *(1.0, 1 / count, 1e5 * i, float(i**2 % 17), 1 + 7 * (i % 5 == 0)),
                *(code, f"map(function_{i})", 0.5 if i % 7 == 0 else 1.0, i % 5 == 0),
                python=i == 3,
                inputs=inputs,
            )
        )
    script = "/home/user/" + "a_long_directory_name/" * 8 + "train.py"
    return measured(stages=tuple(made), script=script)


def hostile(report: Report) -> Report:
    """Every text of it that a script could have chosen, replaced."""
    kept = {"bound", "cause", "grade", "kind"}

    def spoilt(value: Any, name: str = "") -> Any:
        if isinstance(value, str):
            return value if name in kept or not value else HOSTILE
        if isinstance(value, tuple):
            return tuple(spoilt(each, name) for each in value)
        if is_dataclass(value) and not isinstance(value, type):
            changes = {
                field.name: spoilt(getattr(value, field.name), field.name)
                for field in fields(value)
            }
            return replace(value, **changes)
        return value

    changed = spoilt(report)
    assert isinstance(changed, Report)
    return changed
