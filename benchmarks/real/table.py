"""The table of the gallery and its totals, from kept runs."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from real.entries import Entry

WORTH = 1.5
SLOWER, SLACK = 1.10, 3.0
Runs = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Row:
    """What came out for one script. Seconds are medians; None where it was not run."""

    name: str
    plain: float | None
    first: float | None
    second: float | None
    hand: float | None
    numeric: float | None
    right: bool | None
    said: str
    truth: str
    fixes: tuple[str, ...]
    same: bool | None
    """The digest of both runs is a plain run's; None where plain runs differ."""
    output: bool | None
    failed: tuple[str, ...]
    why: str
    """The first cause by `feedline why`; empty where it was not asked."""
    why_right: bool | None
    hand_same: bool | None

    def gain(self, hand: bool = True) -> float | None:
        best = self.hand if hand else self.numeric
        return self.plain / best if self.plain and best else None

    def share(self) -> float | None:
        """Of the seconds that a person saves, those that the second run saved."""
        if not (self.plain and self.second and self.hand):
            return None
        if self.plain / self.hand < WORTH:
            return None
        return (self.plain - self.second) / (self.plain - self.hand)


def row(entry: Entry, runs: Runs) -> Row:
    plain, first, second = runs["plain"], runs["first"], runs["second"]
    watched = first + second
    last = first[-1] if first else {}
    asked = runs["why"][-1] if runs["why"] else {}
    digests = {run["digest"] for run in plain}
    outputs = {run["shown"] for run in plain}
    repeats = len(digests) == 1 and bool(next(iter(digests)))
    return Row(
        name=entry.name,
        plain=_median(plain),
        first=_median(first),
        second=_median(second),
        hand=_median(runs["hand"]),
        numeric=_median(runs["hand_numeric"]),
        right=_right(entry, last) if first else None,
        said=_said(last),
        truth=" | ".join(entry.cause) or "compute",
        fixes=tuple((second or first or [{}])[-1].get("fixes") or ()),
        same=_all_in(watched, "digest", digests) if repeats and watched else None,
        output=_all_in(watched, "shown", outputs)
        if len(outputs) == 1 and watched
        else None,
        failed=tuple(
            f"{kind}: {run['code'] if run['code'] is not None else 'no end'}"
            for kind, each in runs.items()
            for run in each
            if run["code"] != 0
        ),
        why=_said(asked) if asked else "",
        why_right=_right(entry, asked) if asked else None,
        hand_same=_all_in(runs["hand"], "digest", digests)
        if repeats and runs["hand"]
        else None,
    )


def _said(run: dict[str, Any]) -> str:
    causes = run.get("causes") or []
    return causes[0] if causes else str(run.get("bound") or "no report")


def _right(entry: Entry, run: dict[str, Any]) -> bool:
    if not run.get("report"):
        return False
    causes = run.get("causes") or []
    if not entry.cause:
        return not causes
    return bool(causes) and causes[0] in entry.cause


def _all_in(runs: list[dict[str, Any]], key: str, known: set[str]) -> bool:
    return all(run[key] in known for run in runs)


def _median(runs: list[dict[str, Any]]) -> float | None:
    seconds = [run["seconds"] for run in runs if run["code"] == 0]
    return statistics.median(seconds) if seconds else None


HEAD = (
    f"{'script':<30}{'plain':>7}{'first':>7}{'second':>7}{'hand':>6}{'num':>6}"
    f"{'share':>7} {'same':<8} verdict (truth) / fixes"
)


def lines(rows: list[Row]) -> list[str]:
    return [HEAD, *(line for each in rows for line in _lines(each))]


def _lines(each: Row) -> list[str]:
    mark = {True: "+", False: "WRONG", None: "?"}
    verdict = f"{mark[each.right]} {each.said}"
    if each.right is False:
        verdict += f" ({each.truth:.32})"
    share = each.share()
    first = (
        f"{each.name:<30.30}{_number(each.plain)}{_number(each.first)}"
        f"{_number(each.second)}{_times(each.gain())}{_times(each.gain(False))}"
        f"{'' if share is None else f'{share:.0%}':>7} "
        f"{_same(each):<8} {verdict}"
    )
    more = []
    if each.why and not each.right:
        more.append(f"{'':>6}feedline why: {mark[each.why_right]} {each.why}")
    if each.fixes:
        more.append(f"{'':>6}applied: {', '.join(each.fixes)}")
    if each.failed:
        more.append(f"{'':>6}FAILED: {', '.join(each.failed)}")
    if each.hand_same is False:
        more.append(f"{'':>6}by hand: other weights")
    return [first, *more]


def _same(each: Row) -> str:
    mark = {True: "yes", False: "NO", None: "-"}
    return f"{mark[each.same]}/{mark[each.output]}"


def _number(seconds: float | None) -> str:
    return f"{'-' if seconds is None else f'{seconds:.1f}':>7}"


def _times(gain: float | None) -> str:
    return f"{'' if gain is None else f'{gain:.1f}x':>6}"


def totals(rows: list[Row]) -> list[str]:
    """How far the targets are reached, and which scripts miss them."""
    told = [each for each in rows if each.right is not None]
    digests = [each for each in rows if each.same is not None]
    outputs = [each for each in rows if each.output is not None]
    firsts = [each for each in rows if each.plain and each.first]
    seconds = [each for each in rows if each.plain and each.second]
    shares = [each.share() for each in rows]
    reached = [share for share in shares if share is not None]
    asked = [each for each in rows if each.why_right is not None]
    found = [
        _target("first cause right", told, lambda each: bool(each.right)),
        _target("by feedline why", asked, lambda each: bool(each.why_right)),
        _target("same digest", digests, lambda each: bool(each.same)),
        _target("same output", outputs, lambda each: bool(each.output)),
        _target("no run failed", rows, lambda each: not each.failed),
        _target(
            "first run at most 10 % + 3 s slower",
            firsts,
            lambda each: each.first <= each.plain * SLOWER + SLACK,
        ),
        _target(
            "second run not slower (2 % for noise)",
            seconds,
            lambda each: each.second <= each.plain * 1.02,
        ),
    ]
    middle = f"{statistics.median(reached):.0%}" if reached else "-"
    found.append(
        f"share of the seconds saved by hand, median of {len(reached)} scripts where "
        f"by hand gains {WORTH} x: {middle}"
    )
    return found


def _target(name, rows, holds) -> str:
    good = [each for each in rows if holds(each)]
    bad = [each.name for each in rows if not holds(each)]
    part = f"{len(good)} of {len(rows)}"
    return f"{name}: {part}" + (f"; not {', '.join(bad)}" if bad else "")
