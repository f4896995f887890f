"""What earlier runs of a script found out, so that the next one begins at once.

One file for each script and set of grades, in the user's cache folder: its plans,
each with what it was proved on, which the run compares before it uses one. A plan
without edits is kept too: measuring found nothing, and need not be done again for the
same job in as little time.

Memory is a help, not a duty: what cannot be read is as good as nothing, what cannot be
written is not kept, and neither changes how a script ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from feedline.errors import FeedlineError
from feedline.files import whole
from feedline.files.folders import cache_folder
from feedline.fixes import saved
from feedline.fixes.saved import SavedPlan

SCHEMA = 1
_MARK = "feedline_memory"
_MOST_BYTES = 20_000_000
_MOST_PLANS = 16  # of one script: its fits, and what its arguments make of them
_MOST_SCRIPTS = 400
_NAME = re.compile(r"[0-9a-f]{40}\.json")
_LONGER = 2.0
_ABOUT = 0.2


class Uncured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A training that ran without fixes, although a rehearsal might find one."""

    where: str
    why: str
    step_ms: float
    training_s: float | None
    """How long it takes; None where nobody can tell."""
    starting_s: float
    """What the script needs to come to its training: a rehearsal costs that."""


class LastRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`trained_s` are the seconds of all fits at each line; `too_short` the lines where
    they were too short to be measured."""

    trained_s: dict[str, float] = {}
    too_short: tuple[str, ...] = ()

    def is_about(self, other: LastRun) -> bool:
        """Nothing that is worth writing down again."""
        now, then = self.trained_s, other.trained_s
        return (
            now.keys() == then.keys()
            and set(self.too_short) == set(other.too_short)
            and all(abs(now[at] - then[at]) <= _ABOUT * then[at] for at in now)
        )


@dataclass(frozen=True)
class Remembered:
    """A plan, the seconds that measuring for it took, the job's own step in
    milliseconds as it was without the plan (0 where that is not known), and a digest of
    the script's source. `same_source`: that is its source still, to the byte."""

    plan: SavedPlan
    spent_s: float = 0.0
    step_ms: float = 0.0
    source: str = ""
    same_source: bool = True

    def is_final(self, seconds: float) -> bool:
        """Would measuring for so long find no more? Fixes that were found are; that
        nothing was found holds until there is clearly more time to look."""
        return bool(self.plan.edits) or seconds <= _LONGER * max(self.spent_s, 1.0)


class Memory:
    """Of one script, started in one way, with some grades allowed."""

    def __init__(
        self,
        target: Sequence[str],
        allow: Sequence[str],
        *,
        module: bool,
        folder: Path | None = None,
    ) -> None:
        self._folder = folder
        what = [os.getcwd(), target[0]] if module else [os.path.realpath(target[0])]
        key = json.dumps([what, module, sorted(allow)])
        name = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
        self._name = f"{name[:40]}.json"
        self._source = "" if module else _digest(Path(target[0]))

    def recall(self) -> tuple[Remembered, ...]:
        """The newest first."""
        return tuple(
            replace(each, same_source=bool(each.source) and each.source == self._source)
            for each in _plans(self._kept())
        )

    def uncured(self) -> Uncured | None:
        """A training that the last run could not cure, and a rehearsal might."""
        try:
            return msgspec.convert(self._kept().get("uncured"), Uncured | None)
        except msgspec.ValidationError:
            return None

    def last_run(self) -> LastRun:
        """How long it trained, and where, if the script is the same."""
        kept = self._kept()
        if not self._source or kept.get("source") != self._source:
            return LastRun()
        try:
            return msgspec.convert(kept.get("last_run"), LastRun)
        except msgspec.ValidationError:
            return LastRun()

    def _kept(self) -> dict[str, Any]:
        try:
            path = self._place() / self._name
            if path.stat().st_size > _MOST_BYTES:
                return {}
            found = saved.parsed(path.read_bytes())
        except (OSError, ValueError, RecursionError, FeedlineError):
            return {}
        known = isinstance(found, dict) and found.get(_MARK) == SCHEMA
        return found if known else {}

    def remember(
        self,
        learned: Sequence[Remembered],
        uncured: Uncured | None = None,
        now: LastRun | None = None,
    ) -> None:
        """These come first from now on, each in the place of what was known of the
        same job."""
        now = now or LastRun()
        nothing_new = not learned and uncured == self.uncured()
        if nothing_new and now.is_about(self.last_run()):
            return
        with suppress(OSError, ValueError, TypeError, FeedlineError):
            folder = self._place()
            folder.mkdir(parents=True, exist_ok=True)
            new = {_job(each): replace(each, source=self._source) for each in learned}
            old = [each for each in self.recall() if _job(each) not in new]
            kept = [*reversed(new.values()), *old][:_MOST_PLANS]
            content = {
                _MARK: SCHEMA,
                "plans": [_plain(each) for each in kept],
                "uncured": msgspec.to_builtins(uncured),
                "last_run": msgspec.to_builtins(now),
                "source": self._source,
            }
            whole.write(folder / self._name, json.dumps(content) + "\n", sync=False)
            _prune(folder)

    def _place(self) -> Path:
        return self._folder or cache_folder("plans")


def _job(known: Remembered) -> tuple[str, str]:
    return known.plan.where, json.dumps(known.plan.made_for.to_list(), sort_keys=True)


def _plain(known: Remembered) -> dict[str, Any]:
    return {
        "plan": known.plan.to_dict(),
        "spent_s": known.spent_s,
        "step_ms": known.step_ms,
        "source": known.source,
    }


def _plans(data: dict[str, Any]) -> list[Remembered]:
    from feedline.report import plans

    found = []
    listed = data.get("plans")
    for each in listed if isinstance(listed, list) else []:
        try:
            plan = SavedPlan.from_dict(each["plan"])
            plans.check(plan)
            spent_s, step_ms = float(each["spent_s"]), float(each["step_ms"])
            found.append(Remembered(plan, spent_s, step_ms, str(each["source"])))
        except (FeedlineError, KeyError, TypeError, ValueError):
            continue  # of an older feedline, or damaged
    return found


def _prune(folder: Path) -> None:
    """Of scripts that were not run for the longest time, nothing is kept."""
    ours = [each for each in folder.iterdir() if _NAME.fullmatch(each.name)]
    if len(ours) <= _MOST_SCRIPTS:
        return
    ours.sort(key=lambda path: path.stat().st_mtime)
    for path in ours[: len(ours) - _MOST_SCRIPTS]:
        with path.open("rb") as file:
            is_ours = file.read(64).startswith(b'{"%s"' % _MARK.encode())
        if is_ours:
            path.unlink()


def _digest(script: Path) -> str:
    try:
        return hashlib.sha256(script.read_bytes()).hexdigest()
    except OSError:
        return ""


def without_report(known: Remembered) -> Remembered:
    """As the script's process needs it."""
    return replace(known, plan=replace(known.plan, report=None))
