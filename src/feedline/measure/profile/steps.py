"""Where the steps of a capture begin and end.

In this order: steps that the job marked (`step_num`), calls of the same
`tf.function` or jitted function, steps that the profiler derived, batches taken
from the iterator, a kernel that comes again and again. A step lasts until the
next one begins, so that what Python does in between belongs to it; the last one,
which has no next, is left out, or where it is the only one, lasts until its own
work is done. What comes after that is not the job's: it is how the capture ends
(TensorBoard's callback exports the graph then, for as long as several steps).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from feedline.measure.profile.device import Device
from feedline.measure.profile.host import Called, Host
from feedline.measure.profile.spans import Ints, Spans, joined

_PAUSE = 1_000_000  # 1 ms without work ends a step, where no better is known


@dataclass(frozen=True)
class Steps:
    """`windows` has one row per step for each device; `called` is the function or
    the mark; `after` is what the capture holds beyond the last step, in ns."""

    windows: tuple[Spans, ...]
    how: str
    called: str = ""
    after: int = 0

    @property
    def count(self) -> int:
        return max((len(each) for each in self.windows), default=0)


def find_steps(host: Host, devices: Sequence[Device], end: int) -> Steps:
    """`end` is the capture's end. Every device has at least one step, and steps
    last."""
    steps = _find(host, devices, end)
    whole = _whole(host, devices)
    lasting = tuple(rows[rows[:, 1] > rows[:, 0]] for rows in steps.windows)
    return replace(steps, windows=tuple(r if len(r) else whole for r in lasting))


def _find(host: Host, devices: Sequence[Device], end: int) -> Steps:
    lanes = max(1, len(devices))
    marked = _longest([call for call in host.calls if call.marked])
    called = _longest(_outermost([call for call in host.calls if not call.marked]))
    for calls, how in ((marked, "marked by the job"), (called, "calls of {}")):
        if calls:
            name = calls[0].name
            ends = _done(calls[-1], host, devices)
            windows = _from_calls(calls, ends, bool(devices))
            after = max(0, end - ends)
            return Steps((windows,) * lanes, how.format(name[:80]), name, after)
    if any(len(device.steps) for device in devices):
        each = tuple(_rows(device) for device in devices)
        return Steps(each, "derived by the profiler")
    waits = host.get("wait")
    if len(waits) > 2:
        return Steps((_between(waits[:, 0]),) * lanes, "batches taken")
    repeated = tuple(_repeated(device) for device in devices)
    if repeated and all(len(each) for each in repeated):
        return Steps(repeated, "kernels that repeat")
    return Steps((_whole(host, devices),) * lanes, "none seen: all as one step")


def _longest(calls: list[Called]) -> list[Called]:
    """The calls of the one name that takes most of the time."""
    named: dict[str, list[Called]] = defaultdict(list)
    for call in calls:
        named[call.name].append(call)
    return max(
        named.values(),
        key=lambda each: sum(call.end - call.start for call in each),
        default=[],
    )


def _outermost(calls: list[Called]) -> list[Called]:
    reach, found = -1, []
    for call in sorted(calls, key=lambda each: (each.start, -each.end)):
        if call.start >= reach:
            found.append(call)
            reach = call.end
    return found


def _from_calls(calls: list[Called], done: int, ahead: bool) -> Spans:
    """`ahead`: there is a device, whose work a host need not wait for."""
    starts = np.array([call.start for call in calls], np.int64)
    if len(calls) == 1:
        return np.array([[starts[0], done]], np.int64)
    windows = _between(starts)
    period = float(np.median(windows[:, 1] - windows[:, 0]))
    if ahead and done - starts[-1] > 2 * period and len(calls) > 2:
        # The host ran ahead and only the device's work tells how long a step takes.
        edges = np.linspace(starts[0], done, len(calls) + 1).astype(np.int64)
        windows = np.stack([edges[:-1], edges[1:]], axis=1)
    return windows


def _done(last: Called, host: Host, devices: Sequence[Device]) -> int:
    """When the last call's own work is done on every device."""
    moments, numbers = host.launches
    mine = numbers[(moments >= last.start) & (moments <= last.end)]
    ends = [last.end]
    for device in devices:
        end, launched = device.launched
        if len(mine) and len(launched):
            ends += end[np.isin(launched, mine)].tolist()
        else:
            ends.append(_pause(last.end, joined(*device.spans.values())))
    return max(ends)


def _pause(moment: int, work: Spans) -> int:
    """When the work that goes on at a moment has come to a pause."""
    here = int(np.searchsorted(work[:, 1], moment, "left")) if len(work) else 0
    reach = moment
    for start, end in work[here:]:
        if start > reach + _PAUSE:
            break
        reach = max(reach, int(end))
    return reach


def _between(starts: Ints) -> Spans:
    return np.stack([starts[:-1], starts[1:]], axis=1)


def _rows(device: Device) -> Spans:
    steps = device.steps[np.argsort(device.steps[:, 0], kind="stable")]
    if len(steps) < 2:
        return steps
    return np.concatenate([_between(steps[:, 0]), steps[-1:]])


def _repeated(device: Device) -> Spans:
    """Most of a step's kernels run equally often: once a step. The earliest of
    them marks its beginning."""
    weight: dict[int, int] = defaultdict(int)
    for kernel in device.kernels:
        if len(kernel.start) > 2:
            weight[len(kernel.start)] += int((kernel.end - kernel.start).sum())
    if not weight:
        return np.empty((0, 2), np.int64)
    times = max(weight, key=lambda each: weight[each])
    first = min(
        (kernel.start for kernel in device.kernels if len(kernel.start) == times),
        key=lambda starts: int(starts[0]),
    )
    return _between(first)


def _whole(host: Host, devices: Sequence[Device]) -> Spans:
    work = [spans for device in devices for spans in device.spans.values()]
    every = joined(*work, *host.spans.values())
    if not len(every):
        return np.array([[0, 1]], np.int64)
    return np.array([[every[0, 0], max(every[-1, 1], every[0, 0] + 1)]], np.int64)
