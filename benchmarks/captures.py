"""Claim: captures on which TensorFlow's profiler says "all others" are explained.

    python benchmarks/captures.py DIR

DIR holds captures (NN.xplane.pb) and, where TensorFlow stored its own verdict on
one, NN.overview_page.pb beside it. The table has feedline's verdict next to
TensorFlow's, and our unknown share next to its "all others". The captures of
docs/trace.md are not part of this repository; any directory of captures will do.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

COLUMNS = ("capture", "GPU", "step", "compute", "copies", "input", "launch")
COLUMNS = (*COLUMNS, "other", "unknown", "first finding", "TensorFlow's verdict")
COLUMNS = (*COLUMNS, "its all others")
_STATEMENT = re.compile(
    rb"program is (NOT|MODERATELY|HIGHLY|POTENTIALLY) input-bound because "
    rb"(?:only )?(\d+\.\d+)% of the total step time sampled is (?:spent on|waiting for)"
    rb" ('All Others'|input)?"
)
_SPENT = rb"(\d+\.\d+) ?% of the total step time sampled is spent on '?"
_LAUNCH, _OTHERS = re.compile(_SPENT + b"Kern"), re.compile(_SPENT + b"All Others")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    folder = parser.parse_args().folder
    print(f"| {' | '.join(COLUMNS)} |")
    print(f"| {' | '.join('---' for _ in COLUMNS)} |")
    for name in sorted({path.name.split(".")[0] for path in folder.glob("*.pb")}):
        print(f"| {' | '.join(row(folder, name))} |")


def row(folder: Path, name: str) -> list[str]:
    capture = folder / f"{name}.xplane.pb"
    ours = [
        name,
        *(ours_of(capture) if capture.exists() else ["no capture"] + 8 * [""]),
    ]
    return [*ours, *theirs(folder / f"{name}.overview_page.pb")]


def ours_of(capture: Path) -> list[str]:
    from feedline.session.captured import report_of

    report = report_of(capture)
    share = {part.kind: part.share for part in report.trace.parts}
    known = ("compute", "host-op", "copy-in", "copy-out", "input", "launch", "unknown")
    parts = (
        share["compute"] + share["host-op"],
        share["copy-in"] + share["copy-out"],
        share["input"],
        share["launch"],
        sum(value for kind, value in share.items() if kind not in known),
        share["unknown"],
    )
    device = re.search(r"capability (\d\.\d), (\d+)", " ".join(report.machine.devices))
    return [
        f"{device[1]}, {device[2]} SM" if device else "none",
        f"{report.step.observed_ms:,.1f} ms",
        *(f"{100 * part:.1f} %" for part in parts),
        report.findings[0].cause if report.findings else "-",
    ]


def theirs(page: Path) -> list[str]:
    """TensorFlow's verdict and its "all others", as they were stored."""
    if not page.exists():
        return ["none stored", ""]
    text = page.read_bytes()
    found, launch = _STATEMENT.search(text), _LAUNCH.search(text)
    if found is None:
        return ["not understood", ""]
    level, percent, what = (part.decode() if part else "" for part in found.groups())
    rest = _OTHERS.search(text)
    verdict = f"{level} input-bound"
    if what != "'All Others'":
        verdict += f", {percent} % input"
    if launch:
        verdict += f"; launch {launch[1].decode()} %"
    return [verdict, f"{rest[1].decode()} %" if rest else "-"]


if __name__ == "__main__":
    main()
