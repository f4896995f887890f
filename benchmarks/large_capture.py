"""Claim: `feedline trace` reads a capture of 200 MB in 30 s and 1 GB of memory.

    python benchmarks/large_capture.py [CAPTURE.xplane.pb] [--mb 200]

A real capture is made large by repeating its step: every event again and again,
each time later by the capture's own length, until the file has the size. Then
`feedline trace` reads it in a process of its own; the table has the wall time and
the peak resident memory of that process (the mapped file counts too). Without
CAPTURE a Keras job is captured here, on the CPU; a capture from a GPU has more
kinds of events.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = """
import atexit, sys

def peak():
    lines = open("/proc/self/status").read().splitlines()
    print(next(line for line in lines if line.startswith("VmHWM")), file=sys.stderr)

atexit.register(peak)
from feedline.cli.main import main
main()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture", nargs="?", type=Path)
    parser.add_argument("--mb", type=float, default=200.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="feedline-large-") as folder:
        small = options.capture or take(Path(folder) / "logs")
        large = Path(folder) / "large.xplane.pb"
        times, events = repeat(small, large, options.mb * 1e6)
        size = large.stat().st_size / 1e6
        seconds, peak, report = read(large, Path(folder) / "report.json")
    print(f"{platform.machine()}, Python {platform.python_version()}")
    print("| capture | steps | events | seconds | of CPU | peak memory | unknown |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    print(
        f"| {size:.0f} MB ({times} times {small.name}) | {report['step']['steps']:,} "
        f"| {events:,} | {seconds[0]:.1f} | {seconds[1]:.1f} | {peak:.0f} MB "
        f"| {100 * report['trace']['unknown']:.1f} % |"
    )


def take(logs: Path) -> Path:
    """A capture of a few steps of a small Keras job."""
    import keras
    import numpy as np
    import tensorflow as tf

    model = keras.Sequential([keras.layers.Dense(256, "relu"), keras.layers.Dense(10)])
    model.compile("adam", "mse")
    x = np.zeros((4096, 64), "float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :10]))
    data = data.map(lambda a, b: (a + 1.0, b)).batch(64)
    model.fit(data.take(3), verbose=0)
    tf.profiler.experimental.start(str(logs))
    model.fit(data.take(8), verbose=0)
    tf.profiler.experimental.stop()
    return next(logs.rglob("*.xplane.pb"))


def repeat(small: Path, large: Path, size: float) -> tuple[int, int]:
    """Write the capture's events over and over, line by line."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    raw = small.read_bytes()
    space.ParseFromString(raw)
    names = sum(plane.ByteSize() for plane in space.planes)
    names -= sum(line.ByteSize() for plane in space.planes for line in plane.lines)
    times = max(1, math.ceil(size / (len(raw) - names)))
    lines = [line for plane in space.planes for line in plane.lines if line.events]
    first = min(line.timestamp_ns for line in lines)
    length = max(
        event.offset_ps + event.duration_ps + 1000 * (line.timestamp_ns - first)
        for line in lines
        for event in line.events
    )
    events = 0
    with open(large, "wb") as file:
        for plane in space.planes:
            events += times * sum(len(line.events) for line in plane.lines)
            parts = [_repeated(line, times, length) for line in plane.lines]
            del plane.lines[:]
            body = plane.SerializeToString()
            whole = len(body) + sum(map(len, parts))
            file.write(b"\x0a" + varint(whole) + body)
            for part in parts:
                file.write(part)
    return times, events


def _repeated(line, times: int, length: int) -> bytes:
    """A plane's field 3: the line with its events, each `times` times."""
    events = list(line.events)
    starts = [event.offset_ps for event in events]
    del line.events[:]
    body = bytearray(line.SerializeToString())
    for turn in range(times):
        for event, start in zip(events, starts, strict=True):
            event.offset_ps = start + turn * length
            one = event.SerializeToString()
            body += b"\x22" + varint(len(one)) + one
    return b"\x1a" + varint(len(body)) + bytes(body)


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def read(capture: Path, report: Path) -> tuple[tuple[float, float], float, dict]:
    """Seconds by the clock and of CPU time, megabytes, and the report of `feedline
    trace`. The memory is the process's own high-water mark: what the system counts
    for a child would include what its parent had when it was started."""
    command = [sys.executable, "-c", PROGRAM, "trace", "--json", str(report)]
    before, began = sum(os.times()[2:4]), time.perf_counter()
    done = subprocess.run(
        [*command, str(capture)], check=True, capture_output=True, text=True
    )
    seconds = time.perf_counter() - began, sum(os.times()[2:4]) - before
    peak = int(done.stderr.split()[-2]) / 1024
    return seconds, peak, json.loads(report.read_text())


if __name__ == "__main__":
    main()
