"""Claim: `feedline run` makes every example as fast as an expert's hand does.

    python benchmarks/fixes.py [--only NAME] [--seconds N] [--allow GRADES]
                               [--quick] [--json FILE]

For every script in examples/ one `feedline run --dry-run`: the job is measured, the
allowed fixes are tried, and all that are kept are measured once more against the job
as it was, in turns. Before, after and the speed-up with its 95 % interval are of that
last comparison. The ceiling is the original step fed from ready batches: fixes of the
pipeline can reach it, fixes of the step go below it.

The hand-tuned versions are in benchmarks/tuned/, with what was changed in the
docstring: NAME.py gives the same training as the example bit for bit (but for unseeded
draws), NAME_numeric.py where more can be had for other rounding or a lazy optimizer,
NAME_advice.py where a person may do what no grade allows (feedline says so and leaves
it): that one is shown below the tables and counts for none.
They are measured by `feedline why`, before and after the example's own runs, and count
with the mean of the two, the best of the versions whose grade is allowed. `why` adds
what Keras' callbacks take between the steps, the comparison of the fixes does not:
that is in favour of "after" by less than 0.1 ms per launch.

By hand and after are measured minutes apart, and a shared machine may be a third slower
for a minute. So a row that misses the line is measured four times more, by hand and
all; of the five the middle one counts, and all ratios are shown.

Every measurement is a process of its own. One that fails gives a row with the reason.
What is known so far is saved after every example. Exit code 0 whether reached or not:
the last lines say which.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

import predictions
from predictions import cut

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
TUNED = HERE / "tuned"
GRADES = ("exact", "reordered", "numeric")
ALLOW = ("exact", "exact,reordered,numeric")
ENOUGH = 0.9
MORE = 4  # times that a row is measured again which is below that
WIDTH = 80


class Failed(Exception):
    """A measurement gave nothing; the message says why."""


# ------------------------------------------------------------- one measurement


def feedline(*arguments: str, script: Path, seconds: float) -> dict:
    """The JSON report of one command, or Failed with the reason."""
    with tempfile.TemporaryDirectory(prefix="feedline-bench-") as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "feedline", *arguments]
        command += ["--seconds", f"{seconds:g}", "--json", str(report), str(script)]
        said = Path(folder) / "said"
        # A run on a busy machine takes several times what it is given, and the
        # script has to be started and its data made.
        code = run(command, said, limit=6 * seconds + 300)
        if report.exists():
            return json.loads(report.read_text())
        raise Failed(reason(said.read_text(errors="replace"), code))


def run(command: list[str], said: Path, limit: float) -> int | None:
    """The exit code; None where it took too long. Nothing is left running."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "COLUMNS": str(WIDTH)}
    with open(said, "wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            return process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def reason(said: str, code: int | None) -> str:
    """Why there is no report, in a line: what feedline said last, else the script."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("feedline: ")]
    last = (ours or lines or ["it said nothing"])[-1].removeprefix("feedline: ")
    return f"took too long; {last}" if code is None else f"exit code {code}; {last}"


# ----------------------------------------------------------------- one example


def names() -> list[str]:
    return sorted(p.stem for p in EXAMPLES.glob("*.py") if p.stem != "make_data")


def versions(name: str) -> dict[str, Path]:
    """The hand-tuned scripts of this example, by the grade that their docstring
    states."""
    found = {}
    for suffix in ("", *(f"_{grade}" for grade in (*GRADES, "advice"))):
        path = TUNED / f"{name}{suffix}.py"
        if path.exists():
            found[stated(path, "Grade")] = path
    return found


def stated(path: Path, key: str) -> str:
    """What the docstring says after `key:`."""
    page = ast.get_docstring(ast.parse(path.read_text())) or ""
    for line in page.splitlines():
        if line.startswith(f"{key}:"):
            return line.partition(":")[2].strip()
    raise SystemExit(f"{path} has no line `{key}: ...` in its docstring")


def by_hand(name: str, allowed: set[str], seconds: float) -> dict[str, dict]:
    """One measurement of each version that some list of grades allows."""
    found = {}
    for grade, path in versions(name).items():
        if grade not in allowed:
            continue
        say(f"{name}: by hand ({grade})")
        try:
            report = feedline("why", script=path, seconds=seconds)
            found[grade] = {"ms": report["step"]["observed_ms"]}
        except Failed as failed:
            found[grade] = {"failed": str(failed)}
            say(f"{name}: by hand ({grade}) failed: {failed}")
    return found


def example(name: str, allow: list[str], seconds: float, twice: bool) -> list[dict]:
    """A row for each list of grades; of several where it missed the line."""
    rows = once(name, allow, seconds, twice)
    return [middle(row, seconds) if twice and short(row) else row for row in rows]


def short(row: dict) -> bool:
    return bool(row["after_of_hand"]) and 1 / row["after_of_hand"] < ENOUGH


def middle(row: dict, seconds: float) -> dict:
    """The row, or one of some more, whichever lies in the middle."""
    say(f"{row['example']}: after is {row['after_of_hand']:.2f} of by hand; again")
    found = [row]
    for _ in range(MORE):
        found += once(row["example"], [row["allow"]], seconds, twice=True)
    found = [each for each in found if each["after_of_hand"]]
    found.sort(key=lambda each: each["after_of_hand"])
    ratios = [each["after_of_hand"] for each in found]
    return {**found[len(found) // 2], "ratios": ratios}


def once(name: str, allow: list[str], seconds: float, twice: bool) -> list[dict]:
    """Measured by hand, then with each list of grades, then by hand again."""
    wanted = {grade for grades in allow for grade in grades.split(",")}
    wanted |= {"exact", "advice"}
    half = max(10.0, seconds / 2)  # `why` only measures
    tuned = [by_hand(name, wanted, half)]
    rows = []
    for grades in allow:
        say(f"{name}: feedline run --dry-run --allow {grades}")
        rows.append({"example": name, "allow": grades, **cured(name, grades, seconds)})
    if twice:
        tuned.append(by_hand(name, wanted, half))
    for row in rows:
        row["tuned"] = tuned
        compare(row)
    return rows


def cured(name: str, grades: str, seconds: float) -> dict:
    script = EXAMPLES / f"{name}.py"
    try:
        report = feedline(
            "run", "--dry-run", "--allow", grades, script=script, seconds=seconds
        )
    except Failed as failed:
        say(f"{name}: failed: {failed}")
        return {"failed": str(failed)}
    step, after = report["step"], report["after"]
    row = {
        "before_ms": step["observed_ms"],
        "after_ms": step["observed_ms"],
        "ceiling_ms": step["ceiling_ms"],
        "speedup": 1.0,
        "interval": None,
        "grade": None,
        "applied": [fix["fix"] for fix in report["fixes"] if fix["applied"]],
        "fixes": report["fixes"],
        "proof": report["proof"],
        "verdict": report["verdict"],
        "measured_s": report["seconds"],
    }
    if after is not None:
        row["before_ms"] = after["before_ms"] or after["observed_ms"] * after["speedup"]
        row["after_ms"] = after["observed_ms"]
        row["speedup"], row["interval"] = after["speedup"], after["interval"]
        row["grade"] = report["proof"]["same"] if report["proof"] else None
    return row


def compare(row: dict) -> None:
    """Add the best version by hand that the row's grades allow, and what a person
    may reach beside them."""
    allowed = {"exact", *row["allow"].split(",")}
    times: dict[str, list[float]] = {}
    for measured in row["tuned"]:
        for grade, found in measured.items():
            if "ms" in found:
                times.setdefault(grade, []).append(found["ms"])
    known = {grade: statistics.mean(each) for grade, each in times.items()}
    row["advice_ms"] = known.get("advice")
    means = {grade: ms for grade, ms in known.items() if grade in allowed}
    row["hand_grade"] = min(means, key=means.__getitem__) if means else None
    row["hand_ms"] = means.get(row["hand_grade"])
    after = row.get("after_ms")
    row["after_of_hand"] = after / row["hand_ms"] if after and means else None


# ------------------------------------------------------------------- the table


def show(rows: list[dict], allow: str) -> None:
    print(f"\nAllowed: {allow}; milliseconds per step")
    print(
        f"{'example':<22}{'before':>6}{'after':>6}{'ceiling':>8}{'speed-up':>9}"
        f" {'(interval)':<11}{'grade':<7}{'hand':>5}{'a/h':>5}"
    )
    for row in rows:
        if row["allow"] == allow:
            print(line(row))


def line(row: dict) -> str:
    name = f"{cut(row['example'], 21):<22}"
    hand, share = number(row["hand_ms"]), row["after_of_hand"]
    ratio = "-" if share is None else f"{share:.{2 if share < 9.995 else 0}f}"
    end = f"{hand:>5}{ratio:>5}"
    if "failed" in row:
        return name + f"{cut('FAILED: ' + row['failed'], 46):<47}" + end
    low_high = "-"
    if row["interval"]:
        low_high = "{:.3g}-{:.3g}".format(*row["interval"])
    grade = {"reordered": "reord."}.get(row["grade"], row["grade"] or "-")
    return (
        f"{name}{number(row['before_ms']):>6}{number(row['after_ms']):>6}"
        f"{number(row['ceiling_ms']):>8}{row['speedup']:>8.2f}x {low_high:<11}"
        f"{grade:<7}{end}"
    )


def number(ms: float | None) -> str:
    """Three digits that tell."""
    if ms is None:
        return "-"
    digits = 0 if ms >= 99.95 else 1 if ms >= 9.995 else 2 if ms >= 0.9995 else 3
    return f"{ms:.{digits}f}"


def conclude(rows: list[dict]) -> dict:
    """The claims, and whether they hold."""
    done = [row for row in rows if "failed" not in row]
    slower = [r for r in done if r["interval"] and r["interval"][0] < 1]
    slower += [r for r in done if r["speedup"] < 1 and r not in slower]
    compared = [row for row in done if row["after_of_hand"] is not None]
    below = [row for row in compared if short(row)]
    return {
        "failed": [key(row) for row in rows if "failed" in row],
        "no_example_slower": not slower,
        "slower": [key(row) for row in slower],
        "not_compared": [key(row) for row in done if row not in compared],
        "below_hand": [
            {
                **key(row),
                "reached": 1 / row["after_of_hand"],
                "applied": row["applied"],
                "by_hand": stated(
                    versions(row["example"])[row["hand_grade"]], "Changed"
                ),
            }
            for row in below
        ],
        "measured_again": [
            {**key(row), "ratios": row["ratios"]} for row in done if "ratios" in row
        ],
    }


def key(row: dict) -> dict:
    return {"example": row["example"], "allow": row["allow"]}


def advice(rows: list[dict]) -> None:
    """What a person may reach beside all grades."""
    found = {row["example"]: row for row in rows if row["advice_ms"]}
    for name, row in found.items():
        by_hand = stated(versions(name)["advice"], "Changed")
        print(f"\n{name} by hand, as an advice: {number(row['advice_ms'])} ms")
        print(f"    {by_hand}")


def tell(said: dict) -> None:
    print(f"\nNo example slower: {'yes' if said['no_example_slower'] else 'NO'}")
    for each in said["slower"]:
        print(f"  {each['example']} ({each['allow']})")
    below = said["below_hand"]
    print(f"Each at least {ENOUGH:.0%} as fast as by hand: {'NO' if below else 'yes'}")
    for each in below:
        kept = ", ".join(each["applied"]) or "nothing"
        print(f"  {each['example']} ({each['allow']}): {each['reached']:.0%}")
        print(f"    feedline applied {kept}")
        print(f"    by hand: {each['by_hand']}")
    for each in said["measured_again"]:
        ratios = ", ".join(f"{ratio:.2f}" for ratio in each["ratios"])
        print(f"Again: {each['example']} ({each['allow']}): a/h {ratios}")
    for what, text in (("failed", "Failed"), ("not_compared", "No version by hand")):
        for each in said[what]:
            print(f"{text}: {each['example']} ({each['allow']})")
    print()


# -------------------------------------------------------------------- all of it


def machine() -> dict:
    found = {"cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0]}
    for name in ("feedline", "tensorflow", "tensorflow-cpu", "keras"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def save(path: Path, about: dict, rows: list[dict]) -> None:
    """Whole or not at all, after every example."""
    trials = predictions.tried(rows)
    numbers = {
        "machine": about,
        "rows": rows,
        "claims": conclude(rows),
        "predictions": trials,
        "median_error": predictions.median_error(trials),
    }
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(numbers, indent=2) + "\n")
    os.replace(part, path)


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=names(), help="one example"
    )
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="what `feedline run` is given (60)"
    )
    parser.add_argument(
        "--allow",
        action="append",
        metavar="GRADES",
        help="grades with commas; may be given again (exact; then all three)",
    )
    parser.add_argument("--quick", action="store_true", help="10 s, by hand once")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    asked = parser.parse_args()
    allow = asked.allow or list(ALLOW)
    unknown = {grade for each in allow for grade in each.split(",")} - set(GRADES)
    if unknown:
        parser.error(f"--allow: {unknown.pop()!r} is none of {', '.join(GRADES)}")
    seconds = min(asked.seconds, 10.0) if asked.quick else asked.seconds
    about = machine()
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    rows: list[dict] = []
    try:
        for name in asked.only or names():
            rows += example(name, allow, seconds, twice=not asked.quick)
            if asked.json:
                save(asked.json, about, rows)
    except KeyboardInterrupt:
        say("interrupted; this is what is known")
    for grades in allow:
        show(rows, grades)
    advice(rows)
    tell(conclude(rows))
    predictions.show(predictions.tried(rows))


if __name__ == "__main__":
    main()
