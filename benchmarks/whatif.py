"""Claim: what the sliders of the HTML report expect comes near to what is measured.

    python benchmarks/whatif.py [--only NAME] [--seconds N] [--json FILE]

A job is measured once by `feedline.why`, on all cores and with a slow accelerator.
From that report alone the what-if model says how long a step will take with one core,
with an accelerator ten times as fast, and with both. Then each of these is measured as
well. The error is |expected / measured - 1|; the last line has the median of all.

The accelerator is EMULATED: there is none in this machine. It waits a set time for
every example, asleep, without using the CPU (tests/verdicts/jobs/emulated.py). Fewer
cores are had by binding the process to them. The pipelines are those of
benchmarks/accelerator.py. Every measurement runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PIPELINES = ("images_serial_augmentation", "tfrecord_cache_wrong", "images_tfrecord")
SLOW_MS = 1.5  # per example: 24 to 48 ms a step
FASTER = 10.0


def measure(name: str, cores: int, speed: float, seconds: float) -> None:
    """In a process of its own: print the report of this job on so many cores."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    sys.path[:0] = [str(HERE.parent / "tests" / "verdicts" / "jobs")]
    sys.path[:0] = [str(HERE.parent / "examples"), str(HERE)]
    import accelerator
    from emulated import accelerated_model

    import feedline

    dataset = accelerator.PIPELINES[name]()
    report = feedline.why(accelerated_model(SLOW_MS / speed), dataset, seconds=seconds)
    print(report.to_json())


def ask(name: str, cores: int, speed: float, seconds: float):
    """The report of a job that was measured so."""
    from feedline.report.json import from_json

    command = [sys.executable, __file__, "--measure", name, str(cores), str(speed)]
    done = subprocess.run(
        [*command, "--seconds", str(seconds)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it failed"])[-1])
    return from_json(done.stdout[done.stdout.index("{\n") :])


def compare(name: str, seconds: float) -> list[dict]:
    from feedline.report.fitted import model_of
    from feedline.report.whatif import expect

    cores = len(os.sched_getaffinity(0))
    seen = ask(name, cores, 1.0, seconds)
    model = model_of(seen)
    if model is None:
        raise RuntimeError("the report has no model")
    rows = []
    places = [(cores, FASTER), *((1, s) for s in (1.0, FASTER) if cores > 1)]
    for count, speed in places:
        expected = expect(model, model.scenarios[0], count, speed, 1).step_ms
        measured = ask(name, count, speed, seconds).step
        rows.append(
            {
                "pipeline": name,
                "seen_ms": seen.step.observed_ms,
                "cores": count,
                "speed": speed,
                "expected_ms": round(expected, 2),
                "measured_ms": measured.observed_ms,
                "interval_ms": list(measured.interval_ms),
                "error": abs(expected / measured.observed_ms - 1),
            }
        )
    return rows


def show(rows: list[dict]) -> None:
    print(
        f"{'pipeline':27} {'seen':>8} {'cores':>5} {'speed':>5} {'expected':>9} "
        f"{'measured':>9} {'error':>6}"
    )
    for row in rows:
        print(
            f"{row['pipeline']:27} {row['seen_ms']:5.1f} ms {row['cores']:5} "
            f"{row['speed']:4.0f}x {row['expected_ms']:6.1f} ms "
            f"{row['measured_ms']:6.1f} ms {row['error']:6.0%}"
        )
    print(f"median error {statistics.median(row['error'] for row in rows):.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=PIPELINES, help="one pipeline")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        name, cores, speed = options.measure
        measure(name, int(cores), float(speed), options.seconds)
        return
    rows: list[dict] = []
    for name in PIPELINES:
        if options.only in (None, name):
            try:
                rows += compare(name, options.seconds)
            except RuntimeError as error:
                print(f"{name}: {error}", file=sys.stderr)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    if rows:
        show(rows)


if __name__ == "__main__":
    main()
