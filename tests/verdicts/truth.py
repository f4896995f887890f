"""What a script says is wrong with it, what `feedline why` says, and both compared.

A script with a known truth states it in its docstring, on lines of their own:

    Cause: NAME         the first finding; `A | B` where both are true, `none`
                        where nothing is wrong
    Bound: NAME         what the step is bound by; left out where it is not planted
    Not: NAME           a cause that must not be found: the script is cured of it,
                        and `Cause: none` then leaves other, minor ones open
    Names: NAME         a cause that must be found, first or not
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

NOTHING = "none"


@dataclass(frozen=True)
class Truth:
    script: Path
    causes: tuple[str, ...]
    bounds: tuple[str, ...] = ()
    cured: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.script.stem

    @property
    def planted(self) -> str:
        """What the confusion table calls it."""
        if self.causes == (NOTHING,) and self.cured:
            return f"cured of {', '.join(self.cured)}"
        return " | ".join(self.causes)


@dataclass(frozen=True)
class Verdict:
    found: tuple[str, ...]
    bound: str
    text: str

    @property
    def first(self) -> str:
        return self.found[0] if self.found else NOTHING


class NoVerdict(Exception):
    """feedline gave no report; the message is all that it printed."""


def truths(folder: Path) -> list[Truth]:
    """Of every script in a folder that states one."""
    stated = (read_truth(path) for path in sorted(folder.glob("*.py")))
    return [truth for truth in stated if truth is not None]


def read_truth(script: Path) -> Truth | None:
    doc = ast.get_docstring(ast.parse(script.read_text("utf-8"))) or ""
    stated = {}
    for line in doc.splitlines():
        key, colon, value = line.partition(": ")
        if colon and key in ("Cause", "Bound", "Not", "Names"):
            stated[key] = tuple(name.strip() for name in value.split("|"))
    if "Cause" not in stated:
        return None
    return Truth(
        script,
        stated["Cause"],
        bounds=stated.get("Bound", ()),
        cured=stated.get("Not", ()),
        named=stated.get("Names", ()),
    )


def ask(script: Path, folder: Path, seconds: float | None = None) -> Verdict:
    """Run `feedline why` on a script, with `folder` as its working directory."""
    report = folder / "report.json"
    budget = [] if seconds is None else ["--seconds", str(seconds)]
    options = [*budget, "--json", str(report), str(script)]
    done = subprocess.run(
        [sys.executable, "-m", "feedline", "why", *options],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        env={
            **os.environ,
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "COLUMNS": "80",
            "PYTHONIOENCODING": "utf-8",
        },
    )
    if done.returncode != 0 or not report.exists():
        raise NoVerdict(f"exit code {done.returncode}\n{done.stdout}")
    saved = json.loads(report.read_text("utf-8"))
    found = tuple(finding["cause"] for finding in saved["findings"])
    return Verdict(found, saved["bound"], done.stdout)


def contradictions(truth: Truth, verdict: Verdict) -> list[str]:
    """Where the verdict is not the truth, in words; nothing where it is."""
    wrong = []
    left_open = truth.causes == (NOTHING,) and truth.cured
    if not left_open and verdict.first not in truth.causes:
        wrong.append(f"first is {verdict.first}, planted {' | '.join(truth.causes)}")
    wrong += [
        f"{name} is cured, and named" for name in truth.cured if name in verdict.found
    ]
    wrong += [
        f"{name} is not named" for name in truth.named if name not in verdict.found
    ]
    if truth.bounds and verdict.bound not in truth.bounds:
        wrong.append(f"bound is {verdict.bound}, planted {' | '.join(truth.bounds)}")
    return wrong


def confusion(
    outcomes: Iterable[tuple[Truth, Verdict | None]],
) -> list[tuple[str, ...]]:
    """Planted, named first, how many jobs, how many of them right."""
    jobs: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    for truth, verdict in outcomes:
        cell = (truth.planted, "(no verdict)" if verdict is None else verdict.first)
        jobs[cell] += 1
        right[cell] += verdict is not None and not contradictions(truth, verdict)
    return [(*cell, str(jobs[cell]), str(right[cell])) for cell in sorted(jobs)]


def as_markdown(rows: Iterable[tuple[str, ...]]) -> str:
    table = [("planted", "named first", "jobs", "right"), *rows]
    # A cell may say `a | b`, which Markdown would take for two cells.
    cells = [tuple(cell.replace("|", "or") for cell in row) for row in table]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        f"| {' | '.join(c.ljust(w) for c, w in zip(row, widths, strict=True))} |"
        for row in cells
    ]
    rule = f"| {' | '.join('-' * width for width in widths)} |"
    return "\n".join([lines[0], rule, *lines[1:]])
