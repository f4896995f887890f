"""Claim: what a fix will bring is known before it is tried.

    python benchmarks/fixes.py --json fixes.json
    python benchmarks/predictions.py fixes.json

Reads what benchmarks/fixes.py saved, measures nothing. For every fix that was tried
on an example: the gain (time before over time after) that the plan expected from the
measured stages, and the gain that was then measured in turns. The error of one is
|predicted / measured - 1|; the last line has the median of all.

Fixes that were tried together have one prediction and one measurement: one row.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path


def tried(rows: list[dict]) -> list[dict]:
    """Each trial once: a fix that was tried with the same result under two lists of
    grades is two trials, fixes that were tried together are one."""
    found: dict[tuple, dict] = {}
    for row in rows:
        for fix in row.get("fixes") or ():
            predicted, measured = fix["predicted_gain"], fix["measured_gain"]
            if predicted is None or not measured:
                continue
            interval = tuple(fix["interval"] or ())
            key = (row["example"], row["allow"], predicted, measured, interval)
            if key in found:
                found[key]["fix"] += f" + {fix['fix']}"
                continue
            found[key] = {
                "example": row["example"],
                "allow": row["allow"],
                "fix": fix["fix"],
                "predicted": predicted,
                "measured": measured,
                "interval": list(interval),
                "error": abs(predicted / measured - 1),
                "applied": fix["applied"],
            }
    return list(found.values())


def median_error(trials: list[dict]) -> float | None:
    return statistics.median(t["error"] for t in trials) if trials else None


def inside(trials: list[dict]) -> int:
    """How many predictions lie within the interval of the measurement."""
    return sum(
        trial["interval"][0] <= trial["predicted"] <= trial["interval"][1]
        for trial in trials
        if trial["interval"]
    )


def show(trials: list[dict]) -> None:
    print("Predicted and measured gain of every fix that was tried")
    print(f"{'example':<24}{'fix':<22}{'predicted':>9}{'measured':>9}  {'error':>5}")
    for trial in sorted(trials, key=lambda each: (each["example"], each["allow"])):
        kept = "applied" if trial["applied"] else ""
        print(
            f"{cut(trial['example'], 23):<24}{cut(trial['fix'], 21):<22}"
            f"{trial['predicted']:>8.2f}x{trial['measured']:>8.2f}x"
            f"  {trial['error']:>5.0%}   {kept}".rstrip()
        )
    error = median_error(trials)
    if error is None:
        print("No fix was tried and measured.")
        return
    count = len(trials)
    print(f"\nMedian error of {count} predictions: {error:.1%}; ", end="")
    print(f"{inside(trials)} inside the measurement's own 95 % interval.")


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns, its middle left out if need be."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[-end:]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="what fixes.py --json has saved")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    asked = parser.parse_args()
    trials = tried(json.loads(asked.file.read_text())["rows"])
    show(trials)
    if asked.json:
        numbers = {"median_error": median_error(trials), "trials": trials}
        asked.json.write_text(json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
