"""A plan in a file: what to apply, to which pipeline, and the report it came from.

JSON, so that it can be read and kept with the script. It is applied only to the
pipeline that it was made for.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import GRADES, Edit, Grade

SCHEMA = 1
_MOST_BYTES = 50_000_000


class PlanError(FeedlineError):
    """A saved plan is missing, damaged, or made for another pipeline."""


@dataclass(frozen=True)
class SavedPlan:
    """`where` is the line of the loop, `pipeline` the fingerprint of what it
    reads; `places` says where in the source the edits belong, `grades` what was found
    of each edit. No edits is a plan too: nothing was found that helps."""

    where: str
    pipeline: str
    edits: tuple[Edit, ...] = ()
    report: Mapping[str, Any] | None = field(default=None, repr=False)
    places: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    grades: tuple[Grade, ...] = ()

    def __post_init__(self) -> None:
        exact: Grade = "exact"
        given = self.grades or (exact,) * len(self.edits)
        pairs = zip(self.edits, given, strict=True)
        object.__setattr__(self, "grades", tuple(_graded(*pair) for pair in pairs))

    def without_place(self, fix: str) -> SavedPlan:
        """The same, with nothing to say about this fix in the source."""
        places = tuple(each for each in self.places if each["edit"]["fix"] != fix)
        return replace(self, places=places)

    def check_grades(self, allowed: tuple[Grade, ...]) -> None:
        """Raise where the plan holds an edit that the user has not allowed."""
        for edit, grade in zip(self.edits, self.grades, strict=True):
            if grade not in allowed:
                raise PlanError(
                    f"the plan asks for {edit.fix}, which is {grade}: "
                    f"{_MEANS[grade]}. Allow it with --allow {grade}, or remove the "
                    "plan's file to measure anew without it"
                    if grade != "advice"
                    else f"the plan asks for {edit.fix}, which needs a person. Remove "
                    "the plan's file to measure anew"
                )

    def to_dict(self) -> dict[str, Any]:
        return {
            "feedline_plan": SCHEMA,
            "where": self.where,
            "pipeline": self.pipeline,
            "edits": [
                {**edit.to_dict(), "grade": grade}
                for edit, grade in zip(self.edits, self.grades, strict=True)
            ],
            "places": [dict(place) for place in self.places],
            "report": self.report,
        }

    @classmethod
    def from_dict(cls, data: Any) -> SavedPlan:
        if not isinstance(data, dict) or data.get("feedline_plan") != SCHEMA:
            raise PlanError(f"it is not a feedline plan of schema {SCHEMA}")
        try:
            edits = tuple(
                Edit(str(e["fix"]), _number(e["stage"]), dict(e["args"]))
                for e in data["edits"]
            )
            grades = tuple(_grade(e.get("grade", "exact")) for e in data["edits"])
            places = tuple(dict(place) for place in data["places"])
            plan = cls(
                str(data["where"]),
                str(data["pipeline"]),
                edits,
                data["report"],
                places,
                grades,
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise PlanError(f"it is damaged: {error!r}") from None
        if not isinstance(plan.report, dict | None):
            raise PlanError("it is damaged: its report is none")
        if any("trial" in edit.args for edit in edits):
            raise PlanError("it is damaged: it holds an edit that is only for trials")
        unknown = [edit.fix for edit in edits if edit.fix not in fixes.all()]
        if unknown:
            raise PlanError(f"it asks for {unknown[0]!r}, which is no fix of feedline")
        return plan


_MEANS: Mapping[str, str] = {
    "reordered": "the order of elements inside an epoch changes",
    "numeric": "rounding, or the optimizer's treatment of untouched rows, changes",
}


def _grade(value: Any) -> Grade:
    if value not in GRADES:
        raise ValueError(f"{value!r} is no grade")
    return cast(Grade, value)


def _graded(edit: Edit, grade: Grade) -> Grade:
    """Not better than such an edit can be, whatever the file says."""
    fix = fixes.all().get(edit.fix)
    least = fix.least(edit) if fix is not None else "advice"
    return max(grade, least, key=GRADES.index)


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def load(path: Path) -> SavedPlan:
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise PlanError(f"cannot read the plan {path}: it is not a file")
        if facts.st_size > _MOST_BYTES:
            raise PlanError("it is too large to be a plan")
        return SavedPlan.from_dict(json.loads(path.read_text("utf-8")))
    except OSError as error:
        raise PlanError(f"cannot read the plan {path}: {error.strerror}") from None
    except (ValueError, RecursionError, PlanError) as error:
        raise PlanError(
            f"cannot use the plan {path}: {error}. Remove the file to measure anew"
        ) from None


def save(plan: SavedPlan, path: Path) -> None:
    """Whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(json.dumps(plan.to_dict(), indent=2) + "\n", "utf-8")
        os.replace(part, path)
    except OSError as error:
        raise FeedlineError(f"cannot write {path}: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
