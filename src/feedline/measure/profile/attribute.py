"""What every instant of a step was: one kind each, so that the shares add up.

A device that computes is computing. Where it does not, the first of these that
the capture supports is the reason: it exchanges with other devices or copies; the
host compiles, launches a kernel just now, waits for input, runs an operation of
its own, copies, schedules, waits for another device, or is in Python. The rest is
unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from feedline.measure.profile.device import Device
from feedline.measure.profile.host import Host
from feedline.measure.profile.kinds import KINDS
from feedline.measure.profile.spans import NONE, Spans, common, joined, without

Layers = list[tuple[str, Spans]]


def attribute(
    host: Host, devices: Sequence[Device], windows: Sequence[Spans]
) -> tuple[dict[str, Spans], ...]:
    """For each device, or once for a job on the CPU, the spans of every kind.
    Disjoint, and together exactly the windows."""
    everyone: list[Device | None] = [*devices] or [None]
    return tuple(
        divide(_layers(host, device, devices, steps), joined(steps))
        for device, steps in zip(everyone, windows, strict=True)
    )


def divide(layers: Layers, windows: Spans) -> dict[str, Spans]:
    """The windows divided among the layers: the first that covers an instant owns
    it; what none covers is unknown."""
    left = windows
    parts: dict[str, list[Spans]] = {kind: [] for kind in KINDS}
    for kind, spans in layers:
        parts[kind].append(common(left, spans))
        left = without(left, spans)
    parts["unknown"].append(left)
    return {kind: joined(*each) for kind, each in parts.items()}


def _layers(
    host: Host, device: Device | None, devices: Sequence[Device], steps: Spans
) -> Layers:
    traced = [(call.start, call.end) for call in host.calls if call.traced]
    again = np.array(traced, np.int64).reshape(-1, 2) if traced else NONE
    if device is None:
        on_device: Layers = [("compute", host.get("op"))]
        others = NONE
    else:
        order = ("compute", "exchange", "copy-in", "copy-out")
        on_device = [(kind, device.get(kind)) for kind in order]
        others = joined(
            *(
                other.get(kind)
                for other in devices
                if other is not device
                for kind in ("compute", "exchange")
            )
        )
    return [
        *on_device,
        ("compile", host.get("compile")),
        ("launch", host.get("kernel") if device is not None else NONE),
        ("input", host.get("wait")),
        ("exchange", host.get("exchange")),
        ("host-op", host.get("op")),
        ("copy-in", host.get("copy-in")),
        ("copy-out", host.get("copy-out")),
        ("compile", joined(again)),
        ("launch", joined(host.get("launch"), host.get("kernel"))),
        ("launch", joined(host.get("calling"), host.get("sync"))),
        ("exchange", others),
        ("python", _python(host, steps)),
        ("input", host.get("feeding")),
    ]


def _python(host: Host, steps: Spans) -> Spans:
    """The main thread is in no call: then Python runs. Where the capture has no
    such thread, nothing is said."""
    inside = host.get("inside")
    if not len(inside):
        return host.get("python")
    return joined(without(joined(steps), inside), host.get("python"))
