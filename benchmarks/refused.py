"""What feedline leaves alone because nobody can show it to be safe, and the cost.

    python benchmarks/refused.py [--only NAME] [--rounds N] [--run] [--json FILE]

Each script of refused/ is a small job that a fix would make faster and that `feedline
run` leaves as it is. Its comment `# by hand:` is the line that makes the same change
by hand, where its author knows that it does no harm. Both versions train in turns, in
one process for each case; the first epoch of a turn does not count. The gain is plain
over by hand, taken round by round; the table has the middle one, the lowest and the
highest.

With `--run` the column "left" says whether `feedline run --dry-run` really leaves that
fix out: "no" is a refusal that has been won back, and belongs off the list.

The gain is that of these jobs, in which nearly all the time goes where the fix would
help; a job that spends half of its step there can lose at most 2 x.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pace
from pace import Failed, say

REFUSED = Path(__file__).resolve().parent / "refused"
BY_HAND = re.compile(r"^([ \t]*).*# by hand: (.*)$", re.M)
HEAD = f"{'case':<24}{'fix':<21}{'left':<6}{'gain':>6}   range"


def names() -> list[str]:
    found = {path.stem for path in REFUSED.glob("*.py")}
    return sorted(found - {Path(name).stem for name in pace.HELPERS})


def stated(name: str, key: str) -> str:
    """What the docstring of a case says after `key:`."""
    page = ast.get_docstring(ast.parse((REFUSED / f"{name}.py").read_text())) or ""
    found = re.search(rf"^{key}: (.+)$", page, re.M)
    if found is None:
        raise SystemExit(f"{name} has no line `{key}: ...` in its docstring")
    return found[1]


def by_hand(text: str) -> str:
    """The script with each line that says so replaced. Lines stay where they are."""
    changed, count = BY_HAND.subn(r"\1\2", text)
    if not count:
        raise SystemExit("no line says `# by hand: ...`")
    return changed


# ---------------------------------------------------------------- in its process


class Epochs(io.StringIO):
    """Standard output; stamps the end of each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.stamps: list[float] = []

    def write(self, text: str) -> int:
        if pace.OVER.match(text.lstrip()):
            self.stamps.append(time.perf_counter())
        return len(text)


def turn(name: str, text: str) -> float:
    """Seconds of an epoch, after the first."""
    said = Epochs()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.py"  # AutoGraph wants to read it
        path.write_text(text, "utf-8")
        with contextlib.redirect_stdout(said):
            exec(compile(text, str(path), "exec"), {"__name__": "__main__"})
    first, *_, last = said.stamps
    return (last - first) / (len(said.stamps) - 1)


def job(name: str, rounds: int) -> None:
    """Print the seconds of both versions, round by round."""
    plain = (REFUSED / f"{name}.py").read_text()
    versions = {"plain": plain, "hand": by_hand(plain)}
    found = []
    for number in range(rounds):
        order = list(versions) if number % 2 else list(reversed(versions))
        found.append({which: turn(name, versions[which]) for which in order})
    print(json.dumps(found))


# ------------------------------------------------------------------- the table


def case(name: str, rounds: int) -> dict:
    say(name)
    row = {"case": name, **{key: stated(name, key) for key in ("Left", "Fix", "Back")}}
    command = [sys.executable, __file__, "--job", name, "--rounds", str(rounds)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env=environment
    )
    if done.returncode:
        return row | {"failed": pace.reason(done.stderr, done.returncode)}
    seconds = json.loads(done.stdout.splitlines()[-1])
    ratios = [each["plain"] / each["hand"] for each in seconds]
    row |= {"gain": statistics.median(ratios), "range": [min(ratios), max(ratios)]}
    return row | {"seconds": seconds}


def asked(name: str, seconds: float) -> dict:
    """The fixes that feedline would apply to the script, and what it said last."""
    say(f"{name}: feedline run --dry-run")
    with tempfile.TemporaryDirectory(prefix="feedline-bench-") as place:
        script = pace.copy(REFUSED / f"{name}.py", Path(place) / "plain")
        plan = Path(place) / "plan"
        try:
            report, _ = pace.plan(script, plan, "exact", seconds)
        except Failed as failed:
            return {"applied": [], "said": str(failed)}
        lines = plan.with_suffix(".said").read_text(errors="replace").splitlines()
    fixes = [each["fix"] for each in report["fixes"] if each["applied"]]
    ours = [line for line in lines if line.startswith("feedline: ")]
    return {"applied": fixes, "said": ours[-1] if ours else ""}


def line(row: dict) -> str:
    left = "-"
    if "applied" in row:
        left = "no" if row["Fix"] in row["applied"] else "yes"
    text = f"{row['case']:<24}{row['Fix']:<21}{left:<6}"
    if "failed" in row:
        return f"{text}FAILED: {row['failed']}"
    low, high = row["range"]
    return f"{text}{row['gain']:>5.1f}x   {low:.1f} to {high:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=names(), action="append", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=5, help="of plain and by hand")
    parser.add_argument("--run", action="store_true", help="see what feedline does")
    parser.add_argument("--seconds", type=float, default=10.0, help="for feedline run")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--job", choices=names(), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job(options.job, options.rounds)
        return
    rows = []
    for name in options.only or names():
        row = case(name, options.rounds)
        rows.append(row | (asked(name, options.seconds) if options.run else {}))
        say(line(rows[-1]))
        if options.json:
            options.json.write_text(json.dumps({"rows": rows}, indent=1))
    print(HEAD)
    for row in rows:
        print(line(row))


if __name__ == "__main__":
    main()
