"""A few captured steps, lane by lane, as the timeline chart draws them.

A capture may hold a hundred thousand spans. The page is to stay small and quick, so of
too many the longest are kept, and the page says how many were left out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace

from feedline.report.report import SpanRow, Timeline, TimelineRow
from feedline.report.text import printable, shorten

MOST_SPANS = 6000
"""Of all lanes together; each has the same room."""

_LABEL = 80


@dataclass(frozen=True)
class Lane:
    """`spans` are (start, end, kind, label); `totals` the milliseconds of each
    kind, those of spans that were left out too."""

    name: str
    spans: tuple[tuple[float, float, str, str], ...]
    totals: dict[str, float]
    left: int = 0


def lanes(timeline: Timeline | None) -> tuple[Lane, ...]:
    """The lanes that have something in them."""
    if timeline is None:
        return ()
    found = []
    for row, kept in zip(timeline.rows, trimmed(timeline).rows, strict=True):
        if not kept.spans:
            continue
        totals: dict[str, float] = defaultdict(float)
        for span in filter(_drawable, row.spans):
            totals[printable(span.kind)] += _length(span)
        left = len(row.spans) - len(kept.spans)
        spans = tuple(map(_plain, kept.spans))
        found.append(Lane(printable(row.lane), spans, dict(totals), left))
    return tuple(found)


def trimmed(timeline: Timeline) -> Timeline:
    """The same with as many spans as are drawn."""
    room = MOST_SPANS // max(1, len(timeline.rows))
    return replace(timeline, rows=tuple(_longest(row, room) for row in timeline.rows))


def _longest(row: TimelineRow, room: int) -> TimelineRow:
    good = list(filter(_drawable, row.spans))
    kept = sorted(good, key=_length, reverse=True)[:room]
    kept.sort(key=lambda span: span.start_ms)
    return replace(row, spans=tuple(kept))


def _drawable(span: SpanRow) -> bool:
    return math.isfinite(span.start_ms) and math.isfinite(span.end_ms)


def _length(span: SpanRow) -> float:
    return max(0.0, span.end_ms - span.start_ms)


def _plain(span: SpanRow) -> tuple[float, float, str, str]:
    label = shorten(printable(span.label), _LABEL)
    return (span.start_ms, span.end_ms, printable(span.kind), label)
