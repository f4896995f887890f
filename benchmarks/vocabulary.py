"""Claim: under `feedline run` a step costs what a batch touches, whatever the
vocabulary.

    python benchmarks/vocabulary.py [--seconds N] [--rounds N] [--quick] [--json FILE]

The classifier of examples/embedding_large_vocabulary.py over 1,000, 100,000 and
500,000 words, with Adam (`--allow numeric`) and with SGD (`--allow exact`). For each
of the six `feedline run --dry-run` makes a plan; then the scripts as they are and
`feedline run --plan` take turns, whole processes each, timed from outside (pace.py).
See embedding_updates.py for the row-sparse update by itself.

A script's time in a round is the mean of its epochs, of 100 steps each; what stands in
the table is the middle of the rounds, and the lowest and highest speed-up.

Targets: under feedline the step at 100,000 and 500,000 words takes at most 1.5 times
the script's own at 1,000, and at 500,000 it is at least 50 times as fast as without.

Exit code 0 whether reached or not: the last lines say which.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import pace
from pace import Failed, Race, say

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/embedding_large_vocabulary.py"
SIZES = (1_000, 100_000, 500_000)
GRADES = {"adam": "numeric", "sgd": "exact"}
STEPS = 100
WITHIN, FASTER = 1.5, 50.0


def measure(
    optimizer: str, seconds: float, rounds: int, enough: pace.Enough
) -> list[dict]:
    """A row for each size."""
    with tempfile.TemporaryDirectory(prefix="feedline-bench-") as place:
        race = Race(optimizer, Path(place), enough, limit=600.0)
        plans = [planned(race, optimizer, words, seconds) for words in SIZES]
        race.run(rounds)
        smallest = f"before, {SIZES[0]}"
        return [timed(row, race, smallest) for row in plans]


def planned(race: Race, optimizer: str, words: int, seconds: float) -> dict:
    """The script and what `feedline run` makes of it, added to the race."""
    folder = race.folder / str(words)
    changed = {
        "WORDS = 200_000": f"WORDS = {words}",
        "SENTENCES = 25_600": f"SENTENCES = {128 * STEPS}",
        'optimizer="adam"': f'optimizer="{optimizer}"',
    }
    script = pace.copy(EXAMPLE, folder, changed)
    grade = GRADES[optimizer]
    say(f"{optimizer}: feedline run --dry-run --allow {grade}, {words:,} words")
    found, command = pace.plan(script, folder / "its.plan", grade, seconds)
    applied = [fix["fix"] for fix in found["fixes"] if fix["applied"]]
    race.add(f"before, {words}", str(script))
    if applied:
        race.add(f"after, {words}", *command)
    return {
        "words": words,
        "after": f"after, {words}" if applied else f"before, {words}",
        "said": found["after"]["speedup"] if found["after"] else 1.0,
        "grade": found["proof"]["same"] if found["proof"] else None,
        "applied": applied,
    }


def timed(row: dict, race: Race, smallest: str) -> dict:
    before, after = f"before, {row['words']}", row["after"]
    if race.failed:
        version, why = next(iter(race.failed.items()))
        raise Failed(f"{version} words: {why}")
    gains = race.ratios(before, after)
    return row | {
        "before_ms": 1e3 * race.median(before) / STEPS,
        "after_ms": 1e3 * race.median(after) / STEPS,
        "speedup": statistics.median(gains),
        "range": [min(gains), max(gains)],
        "of_smallest": statistics.median(race.ratios(after, smallest)),
    }


def targets(optimizer: str, rows: list[dict]) -> list[tuple[str, bool]]:
    """Each target, in words, and whether it was reached."""
    checks = []
    for row in rows[1:]:
        text = (
            f"{optimizer}, {row['words']:,} words: {row['of_smallest']:.2f} x the"
            f" script's own step at {SIZES[0]:,} (at most {WITHIN} x)"
        )
        checks.append((text, row["of_smallest"] <= WITHIN))
    largest = rows[-1]
    text = (
        f"{optimizer}, {largest['words']:,} words: {largest['speedup']:.1f} x as fast"
        f" as without (at least {FASTER:.0f} x)"
    )
    checks.append((text, largest["speedup"] >= FASTER))
    return checks


def show(optimizer: str, rows: list[dict]) -> None:
    print(f"\n{optimizer} (--allow {GRADES[optimizer]})")
    print(
        f"{'words':>9} {'before':>10} {'after':>9} {'faster':>8}  {'range':<15}"
        f"{f'of {SIZES[0]:,} before':>15}"
    )
    for row in rows:
        low, high = row["range"]
        applied = ", ".join(row["applied"]) or "nothing"
        print(
            f"{row['words']:>9,} {row['before_ms']:>7.2f} ms {row['after_ms']:>6.2f} ms"
            f" {row['speedup']:>6.1f} x  {f'{low:.1f} to {high:.1f}':<15}"
            f"{row['of_smallest']:>15.2f}\n{'':>10}{applied}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="what `feedline run` is given (60)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="of each script (3)")
    parser.add_argument("--quick", action="store_true", help="30 s, one short round")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    asked = parser.parse_args()
    seconds = min(asked.seconds, 30.0) if asked.quick else asked.seconds
    rounds = 1 if asked.quick else max(1, asked.rounds)
    enough = pace.Enough(1, 1.0, 5.0) if asked.quick else pace.Enough()
    found, checks = {}, []
    for optimizer in GRADES:
        try:
            rows = measure(optimizer, seconds, rounds, enough)
        except Failed as failed:
            raise SystemExit(f"{optimizer}: {failed}") from failed
        show(optimizer, rows)
        found[optimizer] = rows
        checks += targets(optimizer, rows)
    print()
    for text, reached in checks:
        print(f"{'reached' if reached else 'NOT reached':>11}: {text}")
    if asked.json:
        claims = [{"text": text, "reached": ok} for text, ok in checks]
        numbers = {"rows": found, "targets": claims}
        asked.json.write_text(json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
