"""What was observed and not tried, and what a capture says, as rows of the report.
Pure, like `build.py`."""

from __future__ import annotations

from feedline.measure.measurement import Measurement
from feedline.measure.profile.capture import Capture
from feedline.measure.profile.kinds import KINDS
from feedline.report.report import (
    PartRow,
    ProofRow,
    SpanRow,
    Timeline,
    TimelineRow,
    TraceRow,
)
from feedline.report.rounding import tidy


def observed(measurement: Measurement) -> ProofRow | None:
    """Where nothing was tried, that is all the proof there is."""
    if not measurement.only_observed:
        return None
    where = "in a profiler capture of" if measurement.capture else "while training,"
    return ProofRow(
        same="observed",
        elements_compared=0,
        epochs_compared=0,
        text=(
            f"observed {where} {measurement.step.steps} step(s); nothing was changed "
            "and compared"
        ),
    )


def trace(capture: Capture) -> TraceRow:
    return TraceRow(
        source=capture.source,
        parts=tuple(
            PartRow(kind, round(capture.share(kind), 4), tidy(took), KINDS[kind])
            for kind, took in capture.parts.items()
        ),
        unknown=round(capture.share("unknown"), 4),
        busy=round(capture.busy, 4),
        devices=tuple(unit.label for unit in capture.units),
        steps=len(capture.step_ms),
        boundaries=capture.boundaries,
    )


def timeline(capture: Capture) -> Timeline:
    return Timeline(
        rows=tuple(
            TimelineRow(
                lane.name,
                tuple(
                    SpanRow(round(s.start_ms, 4), round(s.end_ms, 4), s.kind, s.label)
                    for s in lane.spans
                ),
            )
            for lane in capture.lanes
        ),
        steps=capture.marks,
    )
