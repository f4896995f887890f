"""A few captured steps, lane by lane, as the timeline chart draws them."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from feedline.report.report import SpanRow, Timeline
from feedline.report.text import printable, shorten

MOST_SPANS = 4000
"""A page stays small and quick: of more spans in a lane the longest are drawn."""

_LABEL = 80


@dataclass(frozen=True)
class Lane:
    """`spans` are (start, end, kind, label); `totals` the milliseconds of each
    kind, `left` how many spans were too many to draw."""

    name: str
    spans: tuple[tuple[float, float, str, str], ...]
    totals: dict[str, float]
    left: int = 0


def lanes(timeline: Timeline | None) -> tuple[tuple[Lane, ...], tuple[float, ...]]:
    """The lanes that have something in them, and where each step ends."""
    if timeline is None:
        return (), ()
    found = []
    for row in timeline.rows:
        good = [span for span in row.spans if _drawable(span)]
        if not good:
            continue
        drawn = sorted(good, key=_length, reverse=True)[:MOST_SPANS]
        totals: dict[str, float] = defaultdict(float)
        for span in good:
            totals[printable(span.kind)] += _length(span)
        spans = sorted(map(_plain, drawn))
        left = len(good) - len(drawn)
        found.append(Lane(printable(row.lane), tuple(spans), dict(totals), left))
    ends = tuple(end for _, end in timeline.steps if math.isfinite(end))
    return tuple(found), ends


def _drawable(span: SpanRow) -> bool:
    return math.isfinite(span.start_ms) and math.isfinite(span.end_ms)


def _length(span: SpanRow) -> float:
    return max(0.0, span.end_ms - span.start_ms)


def _plain(span: SpanRow) -> tuple[float, float, str, str]:
    label = shorten(printable(span.label), _LABEL)
    return (span.start_ms, span.end_ms, printable(span.kind), label)
