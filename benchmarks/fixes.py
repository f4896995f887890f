"""Claim: `feedline run` makes every example as fast as an expert's hand does.

    python benchmarks/fixes.py [--only NAME] [--seconds N] [--rounds N]
                               [--allow GRADES] [--quick] [--json FILE]

For every script in examples/ and every list of grades `feedline run --dry-run` first
makes a plan and a patch. Then the scripts are run and timed from outside (pace.py: the
time from the end of one epoch to the end of the next), in turns, whole processes each:

    before    python NAME.py
    after     feedline run --plan PLAN NAME.py, where the plan holds anything
    patched   python NAME.py after `git apply PATCH`, for grade exact
    hand      python benchmarks/tuned/NAME.py

A version's time in a round is the mean of its epochs, as some of them wait at their end
(epoch_end.py). The speed-up is before over after and a/h after over hand, both taken
round by round; the table has the middle one, and the lowest and highest speed-up.
"said" is the speed-up that `feedline run` itself had told from its own comparison. The
ceiling is the original step fed from ready batches: fixes of the pipeline can reach it,
fixes of the step go below it. A row that misses the line of 90 % gets twice as many
rounds more.

The versions by hand say in their docstring what was changed: NAME.py gives the same
training as the example bit for bit (but for unseeded draws), NAME_numeric.py where more
can be had for other rounding or a lazy optimizer, NAME_advice.py where a person may do
what no grade allows (feedline says so and leaves it): that one is shown below the
tables and counts for none. The best of those counts whose grade is allowed.

A script that fails gives a row with the reason. What is known so far is saved after
every example. Exit code 0 whether reached or not: the last lines say which.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import statistics
import tempfile
from importlib import metadata
from pathlib import Path

import pace
import predictions
from pace import Failed, Race, say
from predictions import cut

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
TUNED = HERE / "tuned"
GRADES = ("exact", "reordered", "numeric")
ALLOW = ("exact", "exact,reordered,numeric")
ENOUGH = 0.9
MORE = 2  # times as many rounds again for a row below that


# ------------------------------------------------------------------- the scripts


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


# ------------------------------------------------------------------- one example


def example(
    name: str, allow: list[str], seconds: float, rounds: int, enough: pace.Enough
) -> list[dict]:
    """A row for each list of grades."""
    with tempfile.TemporaryDirectory(prefix="feedline-bench-") as place:
        folder = Path(place)
        less = pace.LESS.get(name)
        script = pace.copy(EXAMPLES / f"{name}.py", folder / "examples", less)
        race = Race(name, folder, enough)
        race.add("before", str(script))
        rows = []
        for number, grades in enumerate(allow):
            say(f"{name}: feedline run --dry-run --allow {grades}")
            row = {"example": name, "allow": grades, "after": "before"}
            try:
                row |= planned(race, script, grades, seconds, number)
            except Failed as failed:
                say(f"{name}: failed: {failed}")
                row["failed"] = str(failed)
            rows.append(row)
        wanted = {"advice", "exact", *(",".join(allow).split(","))}
        for grade, path in versions(name).items():
            if grade in wanted:
                version = pace.copy(path, folder / "benchmarks" / "tuned", less)
                race.add(f"hand, {grade}", str(version))
        race.run(rounds)
        for row in rows:
            timed(row, race)
        short_of = [row for row in rows if short(row)]
        if short_of and rounds > 1:
            say(f"{name}: below the line; {MORE * rounds} rounds more")
            only = {each for row in short_of for each in (row["after"], row["hand"])}
            race.run(MORE * rounds, only)
            for row in rows:
                timed(row, race)
        return rows


def planned(race: Race, script: Path, grades: str, seconds: float, number: int) -> dict:
    """What `feedline run` finds, and the versions of the script that come of it."""
    patch = race.folder / f"{number}.patch"
    found, command = pace.plan(
        script, race.folder / f"{number}.plan", grades, seconds, "--patch", str(patch)
    )
    after, step = found["after"], found["step"]
    row = {
        "ceiling_ms": step["ceiling_ms"],
        "steps_per_epoch": found["run"]["steps_per_epoch"],
        "said": after["speedup"] if after else 1.0,
        "said_interval": after["interval"] if after else None,
        "grade": found["proof"]["same"] if after and found["proof"] else None,
        "applied": [fix["fix"] for fix in found["fixes"] if fix["applied"]],
        "fixes": found["fixes"],
        "proof": found["proof"],
        "verdict": found["verdict"],
        "measured_s": found["seconds"],
    }
    if not row["applied"]:
        return row
    row["after"] = f"after, {grades}"
    race.add(row["after"], *command)
    if grades == "exact" and patch.exists():
        made = pace.patched(script, patch, race.folder / "patched")
        if made is not None:
            row["patched"] = "patched"
            race.add("patched", str(made))
    return row


def timed(row: dict, race: Race) -> None:
    """Add what the versions of this row took."""
    allowed = {"exact", *row["allow"].split(",")}
    hands = {grade: race.median(f"hand, {grade}") for grade in (*GRADES, "advice")}
    best = {g: hands[g] for g in allowed if hands[g] is not None}
    row["hand_grade"] = min(best, key=best.__getitem__) if best else None
    row["hand"] = f"hand, {row['hand_grade']}"
    row["steps_per_epoch"] = row.get("steps_per_epoch") or race.steps
    each_ms = 1e3 / (row["steps_per_epoch"] or 1)
    for key, version in (
        ("before", "before"),
        ("after", row["after"]),
        ("patched", row.get("patched", "")),
        ("hand", row["hand"]),
        ("advice", "hand, advice"),
    ):
        took = race.median(version)
        row[f"{key}_ms"] = None if took is None else took * each_ms
    for version, why in race.failed.items():
        if version in (row["after"], "before") and "failed" not in row:
            row["failed"] = why
    gains = race.ratios("before", row["after"])
    row["speedup"] = statistics.median(gains) if gains else None
    changed = gains and row["after"] != "before"
    row["range"] = [min(gains), max(gains)] if changed else None
    row["ratios"] = sorted(race.ratios(row["after"], row["hand"]))
    row["after_of_hand"] = statistics.median(row["ratios"]) if row["ratios"] else None
    patched = race.ratios(row.get("patched", ""), row["after"])
    row["patched_of_after"] = statistics.median(patched) if patched else None
    row["epochs_s"] = race.seconds


def short(row: dict) -> bool:
    return bool(row["after_of_hand"]) and 1 / row["after_of_hand"] < ENOUGH


# ------------------------------------------------------------------- the table


def show(rows: list[dict], allow: str) -> None:
    print(f"\nAllowed: {allow}; milliseconds per step")
    print(
        f"{'example':<18}{'before':>6}{'after':>6}{'ceil.':>6}{'faster':>8}"
        f" {'(range)':<10}{'said':>5} {'grade':<7}{'hand':>6}{'a/h':>6}"
    )
    for row in rows:
        if row["allow"] == allow:
            print(line(row))


def line(row: dict) -> str:
    name = f"{cut(row['example'], 17):<18}"
    end = f"{number(row['hand_ms']):>6}{number(row['after_of_hand']):>6}"
    if "failed" in row:
        return name + f"{cut('FAILED: ' + row['failed'], 48):<49}" + end
    low_high = "-"
    if row["range"]:
        low_high = "{:.2g}-{:.2g}".format(*row["range"])
    grade = {"reordered": "reord."}.get(row["grade"], row["grade"] or "-")
    return (
        f"{name}{number(row['before_ms']):>6}{number(row['after_ms']):>6}"
        f"{number(row['ceiling_ms']):>6}{number(row['speedup']):>7}x {low_high:<10}"
        f"{row['said']:>5.3g} {grade:<7}{end}"
    )


def number(amount: float | None) -> str:
    """Three digits that tell."""
    if amount is None:
        return "-"
    digits = 0 if amount >= 99.95 else 1 if amount >= 9.995 else 2
    return f"{amount:.{3 if amount < 0.0995 else digits}f}"


def conclude(rows: list[dict]) -> dict:
    """The claims, and whether they hold."""
    done = [row for row in rows if "failed" not in row]
    slower = [r for r in done if r["range"] and r["speedup"] < 1]
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
                "ratios": row["ratios"],
                "by_hand": stated(
                    versions(row["example"])[row["hand_grade"]], "Changed"
                ),
            }
            for row in below
        ],
        "patched": [
            {**key(row), "patched_of_after": row["patched_of_after"]}
            for row in done
            if row["patched_of_after"]
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
        ratios = ", ".join(f"{ratio:.2f}" for ratio in each["ratios"])
        print(f"  {each['example']} ({each['allow']}): {each['reached']:.0%}")
        print(f"    a/h of the rounds: {ratios}")
        print(f"    feedline applied {kept}")
        print(f"    by hand: {each['by_hand']}")
    if said["patched"]:
        print("The patch at grade exact, over `feedline run`, time per epoch:")
    for each in said["patched"]:
        print(f"  {each['example']:<30}{each['patched_of_after']:.2f}")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=names(), help="one example"
    )
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="what `feedline run` is given (60)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="of each script (3)")
    parser.add_argument(
        "--allow",
        action="append",
        metavar="GRADES",
        help="grades with commas; may be given again (exact; then all three)",
    )
    parser.add_argument("--quick", action="store_true", help="10 s, one short round")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    asked = parser.parse_args()
    allow = asked.allow or list(ALLOW)
    unknown = {grade for each in allow for grade in each.split(",")} - set(GRADES)
    if unknown:
        parser.error(f"--allow: {unknown.pop()!r} is none of {', '.join(GRADES)}")
    seconds = min(asked.seconds, 10.0) if asked.quick else asked.seconds
    rounds = 1 if asked.quick else max(1, asked.rounds)
    enough = pace.Enough(1, 1.0, 10.0) if asked.quick else pace.Enough()
    about = machine()
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    rows: list[dict] = []
    try:
        for name in asked.only or names():
            rows += example(name, allow, seconds, rounds, enough)
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
