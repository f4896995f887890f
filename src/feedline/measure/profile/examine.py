"""A capture's file, taken apart: `Space` in, `Capture` out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from feedline.measure.profile import names
from feedline.measure.profile.attribute import attribute
from feedline.measure.profile.capture import Capture, Copies, Unit
from feedline.measure.profile.device import Device, Kernel, read_devices
from feedline.measure.profile.host import Host, read_host
from feedline.measure.profile.kernels import Kernels, precision
from feedline.measure.profile.kinds import KINDS
from feedline.measure.profile.notes import remarks
from feedline.measure.profile.pipeline import Fed, make_pipeline
from feedline.measure.profile.space import Plane, Space
from feedline.measure.profile.spans import Spans, common, joined, total, union, within
from feedline.measure.profile.stages import read_stages
from feedline.measure.profile.steps import Steps, find_steps
from feedline.measure.profile.timeline import draw

_BUS = (((9, 0), 50.0), ((8, 0), 24.0), ((0, 0), 12.0))
"""GB/s that a PCIe bus of 16 lanes carries in practice, by the compute capability
of the GPUs that came with it: generation 5, 4, 3."""


def examine(space: Space, source: str) -> Capture:
    """What the capture says. `source` is its name, for the report."""
    devices = read_devices(space.planes)
    hosts = [plane for plane in space.planes if _is_host(plane)]
    placed = frozenset[str]().union(*(device.ops for device in devices))
    host = read_host(hosts, placed)
    steps = find_steps(host, devices, _end(space))
    parts = attribute(host, devices, steps.windows)
    windows = steps.windows[0]
    waits = parts[0]["input"]
    stages = read_stages(hosts)
    fed = make_pipeline(stages, windows, waits)
    return Capture(
        source=source,
        step_ms=tuple(((windows[:, 1] - windows[:, 0]) / 1e6).tolist()),
        boundaries=steps.how,
        called=steps.called,
        parts=_mean(parts, steps),
        units=tuple(_unit(*each) for each in zip(devices, parts, strict=False)),
        copies=tuple(_copies(devices, steps)),
        kernels=_kernels(devices, steps),
        host_ops=_host_ops(host, parts[0]["host-op"], len(windows)),
        traced=_traced(host, windows),
        pipeline=fed.pipeline,
        stages=fed.costs,
        waited=fed.waited,
        cores=_cores(hosts),
        threads=_threads(hosts, fed),
        eager_ops=_eager(hosts, windows),
        lanes=draw(host, devices, parts, steps, stages),
        marks=tuple(_marks(windows)),
        notes=tuple(remarks(space, host, devices, steps)),
    )


def _is_host(plane: Plane) -> bool:
    return not names.is_device(plane.name) and plane.name.startswith("/host:CPU")


def _end(space: Space) -> int:
    ends = (int(line.end.max()) for p in space.planes for line in p.lines if len(line))
    return max(ends, default=0)


def _mean(parts: Sequence[dict[str, Spans]], steps: Steps) -> dict[str, float]:
    """Milliseconds per step of each kind, averaged over the devices."""
    sums = dict.fromkeys(KINDS, 0.0)
    for spans, windows in zip(parts, steps.windows, strict=True):
        for kind, each in spans.items():
            sums[kind] += total(each) / 1e6 / max(1, len(windows)) / len(parts)
    return sums


def _unit(device: Device, parts: dict[str, Spans]) -> Unit:
    every = sum(total(spans) for spans in parts.values())
    busy = total(parts["compute"]) / every if every else 0.0
    return Unit(device.name, busy, device.capability, device.cores)


def _copies(devices: Sequence[Device], steps: Steps) -> list[Copies]:
    """Copies inside the steps, those of all devices together."""
    found: dict[str, Copies] = {}
    for device, windows in zip(devices, steps.windows, strict=False):
        count = max(1, len(windows))
        for copy in device.copies:
            place = np.searchsorted(windows[:, 0], copy.start, "right") - 1
            inside = (place >= 0) & (copy.start < windows[np.maximum(place, 0), 1])
            spans = union(copy.start[inside], copy.end[inside])
            before = found.get(copy.kind, Copies(copy.kind, 0.0, 0.0, 0.0))
            found[copy.kind] = Copies(
                copy.kind,
                before.count + float(inside.sum()) / count,
                before.bytes + float(copy.bytes[inside].sum()) / count,
                before.ms + float(within(spans, windows).sum()) / 1e6 / count,
                copy.pinned if before.pinned is None else before.pinned,
                _bus(device.capability),
            )
    return list(found.values())


def _bus(capability: tuple[int, int] | None) -> float | None:
    if capability is None:
        return None
    return next(speed for least, speed in _BUS if capability >= least)


def _kernels(devices: Sequence[Device], steps: Steps) -> Kernels:
    """Of the device that computes most."""
    if not devices:
        return Kernels()
    first = int(np.argmax([total(device.get("compute")) for device in devices]))
    return _sums(devices[first].kernels, steps.windows[first])


def _sums(kernels: Sequence[Kernel], steps: Spans) -> Kernels:
    """Sums over one device's kernels, per step."""
    count = max(1, len(steps))
    sums = {"single": 0.0, "half": 0.0, "misaligned": 0.0, "tf32": 0.0}
    launches, every, choosing = 0, 0.0, False
    longest = []
    for kernel in kernels:
        if kernel.kind != "compute":
            continue
        inside = int(
            sum(((kernel.start >= a) & (kernel.start < b)).sum() for a, b in steps)
        )
        if not inside:
            continue
        ms = float(within(union(kernel.start, kernel.end), steps).sum()) / 1e6 / count
        launches += inside
        every += ms
        choosing = choosing or "redzone_checker" in kernel.name
        longest.append((kernel.name, ms))
        kind = precision(kernel.name)
        if kind is not None:
            sums[kind] += ms
    longest.sort(key=lambda pair: -pair[1])
    return Kernels(
        launches=launches / count,
        mean_us=1e3 * every / max(1e-9, launches / count),
        single=sums["single"],
        half=sums["half"] + sums["misaligned"],
        misaligned=sums["misaligned"],
        choosing=choosing,
        longest=tuple(longest[:5]),
    )


def _host_ops(host: Host, alone: Spans, steps: int) -> tuple[tuple[str, float], ...]:
    """The operations that ran on the CPU while no device computed."""
    if not len(alone):
        return ()
    found = [
        (name[:80], total(common(union(start, end), alone)) / 1e6 / max(1, steps))
        for name, start, end in host.ops
    ]
    ranked = sorted((each for each in found if each[1] > 0), key=lambda each: -each[1])
    return tuple(ranked[:10])


def _traced(host: Host, windows: Spans) -> tuple[tuple[str, int], ...]:
    reach = joined(windows)
    counts: dict[str, int] = {}
    for call in host.calls:
        inside = len(reach) and reach[0, 0] <= call.start < reach[-1, 1]
        if call.traced and inside:
            counts[call.name] = counts.get(call.name, 0) + 1
    return tuple(sorted(counts.items(), key=lambda each: -each[1]))


def _cores(hosts: Sequence[Plane]) -> int | None:
    """What tf.data counted on, where it says so."""
    for plane in hosts:
        for line in plane.lines:
            keys = [
                key
                for key in np.unique(line.name_of).tolist()
                if plane.names.get(key) in ("Iterator::Root", "Iterator::Model")
            ]
            rows = np.flatnonzero(np.isin(line.name_of, keys))[:1]
            has, value = plane.numbers(line.part(rows), "cpu_budget")
            if has.any() and 0 < value[0] < 10_000:
                return int(value[0])
    return None


def _threads(hosts: Sequence[Plane], fed: Fed) -> int:
    """A pool has a thread for each core, but not all of them need to show up."""
    pools = Counter(
        line.name.partition("/")[0]
        for plane in hosts
        for line in plane.lines
        if line.name.startswith(("tf_Compute", "tf_data_private", "tf_numa"))
    )
    asked = [cost.parallelism for cost in fed.costs]
    return max([1, *pools.values(), *asked])


def _eager(hosts: Sequence[Plane], windows: Spans) -> float:
    """Operations per step that Python runs one by one."""
    count = 0
    for plane in hosts:
        keys = [
            key
            for key, name in plane.names.items()
            if name.startswith("EagerLocalExecute:") and "__inference" not in name
        ]
        for line in plane.lines:
            starts = line.start[np.isin(line.name_of, keys)]
            place = np.searchsorted(starts, windows)
            count += int((place[:, 1] - place[:, 0]).sum())
    return count / max(1, len(windows))


def _marks(windows: Spans, most: int = 5) -> list[tuple[float, float]]:
    if not len(windows):
        return []
    base = int(windows[0, 0])
    return [((a - base) / 1e6, (b - base) / 1e6) for a, b in windows[:most].tolist()]
