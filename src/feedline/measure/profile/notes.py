"""What should be said about a capture beside its numbers: how far it can be trusted,
and what in it is the profiler's own doing rather than the job's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from feedline.measure.profile import names
from feedline.measure.profile.device import Device
from feedline.measure.profile.host import Host
from feedline.measure.profile.space import Space
from feedline.measure.profile.spans import common, joined, total
from feedline.measure.profile.steps import Steps

_EXPORTS = ("WriteSummary", "WriteGraphSummary", "FlushSummaryWriter")


def remarks(
    space: Space,
    host: Host,
    devices: Sequence[Device],
    steps: Steps,
) -> list[str]:
    notes = [f"the profiler reported: {error}" for error in space.errors[:3]]
    planes = [plane for plane in space.planes if names.is_device(plane.name)]
    silent = len(planes) - len(devices)
    if devices and silent:
        notes.append(f"{silent} of {len(planes)} devices recorded no computing")
    if steps.count == 1:
        notes.append(
            "the capture holds one step: whether others are like it, it cannot tell"
        )
    step_ms = total(joined(steps.windows[0])) / 1e6 / max(1, steps.count)
    if steps.after / 1e6 > max(1.0, 0.05 * step_ms):
        exported = any(name.startswith(_EXPORTS) for name, _, _ in host.ops)
        whose = "there TensorBoard's callback exports the graph, once"
        notes.append(
            f"{steps.after / 1e6:,.0f} ms after the last step belong to no step and "
            f"are not counted{': ' + whose if exported else ''}"
        )
    if slowest := _attaching(host, steps):
        notes.append(
            f"the first calls to the GPU's driver take up to {slowest:,.0f} ms: the "
            "profiler attaches itself to it in this step, which the job does not pay "
            "without it"
        )
    if any("redzone_checker" in k.name for device in devices for k in device.kernels):
        notes.append(
            "cuDNN was still choosing its algorithms: this is a first step, slower "
            "than those that follow"
        )
    return notes


def _attaching(host: Host, steps: Steps) -> float:
    """How long the longest of the driver's first calls takes, in ms; 0 where they
    are as quick as others."""
    moments, numbers = host.launches
    first = np.unique(moments[numbers <= 10])
    kernels = host.get("kernel")
    if not len(first) or not len(kernels):
        return 0.0
    place = np.searchsorted(kernels[:, 0], first, "right") - 1
    rows = kernels[np.unique(place[place >= 0])]
    rows = common(rows, joined(steps.windows[0]))
    longest = float((rows[:, 1] - rows[:, 0]).max()) / 1e6 if len(rows) else 0.0
    return longest if longest > 5.0 else 0.0
