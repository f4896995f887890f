"""Claim: on a CPU the TensorFlow engine's time goes to products and to rows.

    python benchmarks/step_profile.py --corpus FILE [--after S] [--seconds S]

Trains a skip-gram on the text with `--engine tensorflow`, and once it is under way
takes a capture with TensorFlow's profiler. The table has each kind of operation's
share of the time that all operations took on all threads, without the executor and the
loop around them.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

AROUND = {"While", "StatelessWhile", "PartitionedCall", "StatefulPartitionedCall"}
SHOWN = 0.01


def captured(corpus: Path, after: float, seconds: float) -> Path:
    """A capture of some seconds in the middle of a training."""
    import tensorflow as tf

    from feedline import words

    folder = tempfile.mkdtemp(prefix="feedline-profile-")
    ended = threading.Event()

    def train() -> None:
        with tempfile.TemporaryDirectory() as out:
            words.train(corpus, out=Path(out) / "v", dim=100, engine="tensorflow")
        ended.set()

    worker = threading.Thread(target=train)
    worker.start()
    time.sleep(after)
    if ended.is_set():
        raise SystemExit(f"the training was over after {after:g} s: give it more text")
    tf.profiler.experimental.start(folder)
    time.sleep(seconds)
    tf.profiler.experimental.stop()
    worker.join()
    return next(Path(folder).rglob("*.xplane.pb"))


def by_operation(path: Path) -> Counter[str]:
    """Picoseconds of each kind of operation on the host's threads."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    space.ParseFromString(path.read_bytes())
    taken: Counter[str] = Counter()
    for plane in space.planes:
        if plane.name != "/host:CPU":
            continue
        for line in plane.lines:
            for event in line.events:
                # name:Kind, and after # what it was called with
                name = plane.event_metadata[event.metadata_id].name.partition("#")[0]
                operation, _, kind = name.rpartition(":")
                if operation and "::" not in name and kind.isidentifier():
                    taken[kind] += event.duration_ps
    return Counter({k: v for k, v in taken.items() if k not in AROUND})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--after", type=float, default=20.0, help="seconds (20)")
    parser.add_argument("--seconds", type=float, default=3.0, help="captured (3)")
    asked = parser.parse_args()
    taken = by_operation(captured(asked.corpus, asked.after, asked.seconds))
    total = sum(taken.values())
    for kind, time_of in taken.most_common():
        if time_of >= SHOWN * total:
            print(f"{kind:24}{time_of / total:6.1%}")


if __name__ == "__main__":
    main()
