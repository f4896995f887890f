"""Run every planted job and print the confusion table as Markdown.

    python tests/verdicts/confusion.py [NAME ...]

Takes about half a minute for each job, or for the named ones only. The machine
should have nothing else to do.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.verdicts.truth import (  # noqa: E402
    NoVerdict,
    Truth,
    Verdict,
    as_markdown,
    ask,
    confusion,
    contradictions,
    truths,
)

SECONDS = 20


def main(names: list[str]) -> int:
    planted = truths(HERE / "jobs")
    unknown = set(names) - {truth.name for truth in planted}
    if unknown:
        print(f"no such job: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    outcomes = [(t, _verdict(t)) for t in planted if not names or t.name in names]
    print(as_markdown(confusion(outcomes)))
    right = [v is not None and not contradictions(t, v) for t, v in outcomes]
    print(f"\n{sum(right)} of {len(right)} jobs have the verdict that was planted.")
    return 0 if all(right) else 1


def _verdict(truth: Truth) -> Verdict | None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            verdict = ask(truth.script, Path(folder), SECONDS)
        except NoVerdict as reason:
            print(f"{truth.name}: no verdict, {reason}", file=sys.stderr, flush=True)
            return None
    wrong = "; ".join(contradictions(truth, verdict)) or "as planted"
    print(f"{truth.name}: {wrong}", file=sys.stderr, flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
