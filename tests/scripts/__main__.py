"""Every script by plain Python and by feedline, as a table.

    python -m tests.scripts [NAME ...] [--way run|rehearse|tune|plan|python] [--jobs 1]

One line for each script: what was fixed, whether the result is the same, and the
seconds by Python and by feedline. `--way python` asks whether the scripts themselves
give the same twice. `--show` prints what differs, and what feedline said.
Ends with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.scripts.compare import SECONDS, WAYS, Compare, Compared
from tests.scripts.script import Script, scripts

MOST = 16
OURS = re.compile(r"feedline: |\w*(Error|Exception|Warning)\b|Traceback|.*Warning: ")
HEAD = f"{'script':<44} {'fixes applied':<38} {'same':<4} {'plain':>6} {'ours':>6}"


def line(done: Compared) -> str:
    fixes = ", ".join(done.fixes) or "-"
    same = "NO" if done.differs else "yes"
    times = f"{done.plain.seconds:6.1f} {done.ours.seconds:6.1f}"
    text = f"{done.script.name:<44} {fixes:<38} {same:<4} {times}  {done.script.about}"
    return "\n".join([text, *(f"    {each}" for each in done.differs)])


def details(done: Compared) -> str:
    """The first lines that differ, and what feedline said."""
    diff = done.diff.splitlines()[:MOST] if done.differs else []
    said = [text for text in done.ours.err.splitlines() if OURS.match(text)]
    said = [text for text in said if "will be ignored" not in text][-MOST:]
    if done.plain.code:
        last = done.plain.err.strip().rpartition("\n")[2]
        said.append(f"by Python it ends with {done.plain.code}: {last}")
    return "\n".join(f"    | {each[:160]}" for each in diff + said)


def wanted(names: list[str], way: str) -> list[Script]:
    every = scripts(names)
    return [each for each in every if way != "tune" or each.has("tune")]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.scripts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="or a part of it")
    parser.add_argument("--way", choices=WAYS, default="run")
    parser.add_argument("--jobs", type=int, default=1, help="scripts at a time")
    parser.add_argument("--seconds", default=SECONDS, help="given to feedline run")
    parser.add_argument("--show", action="store_true", help="say what differs")
    asked = parser.parse_args()

    chosen = wanted(asked.names, asked.way)
    differing = fixed = 0
    with tempfile.TemporaryDirectory() as root, ThreadPoolExecutor(asked.jobs) as pool:
        compare = Compare(Path(root), asked.seconds)
        print(HEAD, flush=True)
        for done in pool.map(lambda each: compare(each, asked.way), chosen):
            print(line(done), flush=True)
            if asked.show and (more := details(done)):
                print(more, flush=True)
            differing += bool(done.differs)
            fixed += bool(done.fixes)
    print(f"{len(chosen)} scripts, {fixed} with fixes, {differing} not the same")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
