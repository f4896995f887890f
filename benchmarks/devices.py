"""Claim: several devices or machines train the same vectors, and what they cost.

    python benchmarks/devices.py --corpus FILE [--words N] [--only devices,workers]
                                 [--json OUT]

Devices are logical ones of this machine's CPU, workers are processes on it. All
share its cores, so no speed-up can come of them here: the table shows that the
vectors stay as good, and what the exchange of rows costs on top. On devices of their
own the same exchange crosses NVLink, PCIe or a network.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

DEVICES = {
    "1 device": {"devices": "CPU:0"},
    "2 devices": {"devices": "CPU:0,CPU:1"},
    "4 devices": {"devices": "CPU:0,CPU:1,CPU:2,CPU:3"},
    "2, divided": {"devices": "CPU:0,CPU:1", "device_memory": "half"},
}
WORKERS = {"1 worker": 1, "2 workers": 2, "3 workers": 3}


def quality(vectors):
    path = Path(__file__).with_name("words.py")
    spec = importlib.util.spec_from_file_location("words_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.quality(vectors)


def child(corpus, options):
    """One training in this process; the figures as a line of JSON."""
    from feedline import words

    if options.get("device_memory") == "half":
        vocabulary = words.train(corpus, dim=1, epochs=1, cache=options["cache"])
        # 60 % of what both tables take: one device cannot hold them, two can.
        options["device_memory"] = 0.6 * len(vocabulary) * 100 * 8 / 1e9
    vectors = words.train(corpus, epochs=1, engine="tensorflow", **options)
    print(
        json.dumps(
            {
                "speed": vectors.config["words_per_second"],
                "loss": vectors.config["losses"][-1],
                "quality": quality(vectors),
            }
        )
    )


def start(corpus, options):
    command = [sys.executable, __file__, "--corpus", corpus]
    return subprocess.Popen(
        [*command, "--child", json.dumps(options)],
        stdout=subprocess.PIPE,
        text=True,
    )


def figures(process):
    out, _ = process.communicate()
    if process.returncode:
        sys.exit(f"a training ended with {process.returncode}")
    return json.loads(out.splitlines()[-1])


def on_workers(corpus, folder, count):
    """So many processes; the figures of the chief."""
    options = {"cache": folder, "threads": 1}
    if count == 1:
        return figures(start(corpus, options))
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    hosts = [f"localhost:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    file = Path(folder) / f"cluster-{count}.json"
    file.write_text(json.dumps({"cluster": {"worker": hosts}}))
    options["cluster"] = str(file)
    workers = [start(corpus, {**options, "worker": n}) for n in range(count)]
    ends = [figures(worker) for worker in workers]
    return ends[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--words", type=int, default=3_000_000)
    parser.add_argument("--only", default="devices,workers")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.corpus, json.loads(arguments.child))
        return
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        part, taken = Path(folder) / "part.txt", 0
        with open(arguments.corpus) as source, part.open("w") as target:
            for line in source:
                target.write(line)
                taken += len(line.split())
                if taken >= arguments.words:
                    break
        print(
            f"{taken:,} words, one epoch, {os.cpu_count()} cores\n\n{'':11} "
            f"{'words/s':>9}  loss   analogies WordSim SimLex"
        )
        for kind in arguments.only.split(","):
            cases = DEVICES if kind == "devices" else WORKERS
            for name, case in cases.items():
                if kind == "devices":
                    options = {"cache": folder, "threads": 1, **case}
                    found[name] = figures(start(str(part), options))
                else:
                    found[name] = on_workers(str(part), folder, case)
                one = found[name]
                solved, sim, lex = one["quality"]
                print(
                    f"{name:11} {one['speed']:9,} {one['loss']:6.3f} {solved:8.1f} % "
                    f"{sim:8.3f} {lex:6.3f}",
                    flush=True,
                )
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
