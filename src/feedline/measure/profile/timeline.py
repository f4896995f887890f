"""A few steps drawn as lanes of spans, for a page that shows them.

The first lane is the verdict, instant by instant; then the host's threads put
together, the input, the copies and each device. Times count from the first step's
start. Spans that lie close together are drawn as one, so that a lane has at most
some hundred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from feedline.measure.profile.capture import Lane, Span
from feedline.measure.profile.device import Device
from feedline.measure.profile.host import Host
from feedline.measure.profile.spans import Ints, Spans, common, joined, without
from feedline.measure.profile.stages import AHEAD, Path, Seen
from feedline.measure.profile.steps import Steps

_STEPS = 3
_SPANS = 400
_DEVICES = 4
_LABEL = 80


def draw(
    host: Host,
    devices: Sequence[Device],
    parts: Sequence[dict[str, Spans]],
    steps: Steps,
    stages: Mapping[Path, Seen],
) -> tuple[Lane, ...]:
    windows = steps.windows[0][:_STEPS]
    if not len(windows):
        return ()
    window = np.array([[windows[0, 0], windows[-1, 1]]], np.int64)
    on_host = {
        "compile": host.get("compile"),
        "input": host.get("wait"),
        "host-op" if devices else "compute": host.get("op"),
        "launch": joined(host.get("kernel"), host.get("launch"), host.get("calling")),
    }
    lanes = [
        _lane("step", parts[0], window, {}),
        _lane("host", on_host, window, {"host-op": host.ops, "compute": host.ops}),
        _lane("input", {"input": _feeding(stages)}, window, {}),
    ]
    copies = {
        kind: joined(*(device.get(kind) for device in devices))
        for kind in ("copy-in", "copy-out")
    }
    if devices:
        lanes.append(_lane("copies", copies, window, {}))
    for device in devices[:_DEVICES]:
        work = {kind: device.get(kind) for kind in ("compute", "exchange")}
        named = [(each.name, each.start, each.end) for each in device.kernels]
        lanes.append(_lane(device.name, work, window, {"compute": named}))
    return tuple(lane for lane in lanes if lane.spans)


def _feeding(stages: Mapping[Path, Seen]) -> Spans:
    """When a stage of the input was at work in a thread of its own."""
    found = [
        spans
        for path, seen in stages.items()
        for spans in seen.busy(path[-1].startswith(AHEAD))
        if path[-1] not in ("Root", "Model")
    ]
    return joined(*found)


Named = Sequence[tuple[str, Ints, Ints]]


def _lane(
    name: str, kinds: dict[str, Spans], window: Spans, named: dict[str, Named]
) -> Lane:
    """Each instant once: an earlier kind hides a later one."""
    base, spans = int(window[0, 0]), []
    taken: Spans = np.empty((0, 2), np.int64)
    for kind, each in kinds.items():
        shown = without(common(each, window), taken)
        taken = joined(taken, shown)
        merged = _merged(shown)
        labels = _labels(merged, named.get(kind, ()))
        spans += [
            Span((a - base) / 1e6, (b - base) / 1e6, kind, label)
            for (a, b), label in zip(merged.tolist(), labels, strict=True)
        ]
    return Lane(name, tuple(_disjoint(sorted(spans, key=lambda s: s.start_ms))))


def _merged(spans: Spans) -> Spans:
    """Spans with the smallest gaps closed, at most so many."""
    if len(spans) > _SPANS:
        gaps = spans[1:, 0] - spans[:-1, 1]
        least = np.partition(gaps, len(gaps) - _SPANS)[len(gaps) - _SPANS]
        keep = np.concatenate([[True], gaps > least])
        last = np.append(np.flatnonzero(keep)[1:] - 1, len(spans) - 1)
        spans = np.stack([spans[keep, 0], spans[last, 1]], axis=1)
    return spans


def _disjoint(spans: list[Span]) -> list[Span]:
    """Closing gaps may have covered a span of another kind: that one is hidden."""
    kept: list[Span] = []
    for span in spans:
        start = max(span.start_ms, kept[-1].end_ms if kept else 0.0)
        if start < span.end_ms:
            kept.append(replace(span, start_ms=start))
    return kept


def _labels(spans: Spans, named: Named) -> list[str]:
    """The name of what takes longest in each span."""
    best = np.zeros(len(spans), np.int64)
    labels = [""] * len(spans)
    if not len(spans):
        return labels
    for name, start, end in named:
        place = np.searchsorted(spans[:, 0], start, "right") - 1
        inside = (place >= 0) & (start < spans[np.maximum(place, 0), 1])
        sums = np.zeros(len(spans), np.int64)
        np.add.at(sums, place[inside], (end - start)[inside])
        for row in np.flatnonzero(sums > best):
            best[row], labels[row] = sums[row], name[:_LABEL]
    return labels
