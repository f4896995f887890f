"""A plan in a file: what to apply, what it was proved on, and the report it came from.

JSON, so that it can be read and kept with the script. It is applied only to the job
that it was made for, and checked whole before the script is started: every field, its
type and its range. What this feedline does not know is refused, not left out.
`feedline.report.plans` also checks the report and the places inside.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.files import whole
from feedline.fixes.binding import Binding, NotBound
from feedline.fixes.fix import GRADES, Edit, Grade

SCHEMA = 1
_VALIDATION = "validation"
_MOST_BYTES = 50_000_000
_MOST_EDITS = 1_000
_FIELDS = (
    *("feedline_plan", "where", "pipeline", "made_for", "edits", "places", "report"),
)


class PlanError(FeedlineError):
    """A saved plan is missing, damaged, or made for another pipeline."""


@dataclass(frozen=True)
class SavedPlan:
    """`where` is the line of the loop, `pipeline` the fingerprint of what it
    reads, `made_for` all that it was proved on; `places` says where in the source the
    edits belong, `grades` what was found of each edit. No edits is a plan too: nothing
    was found that helps. `validation` is the plan for what the fit validates on."""

    where: str
    pipeline: str
    edits: tuple[Edit, ...] = ()
    report: Mapping[str, Any] | None = field(default=None, repr=False)
    places: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    grades: tuple[Grade, ...] = ()
    made_for: Binding = field(default_factory=Binding, repr=False)
    validation: SavedPlan | None = None

    def __post_init__(self) -> None:
        exact: Grade = "exact"
        given = self.grades or (exact,) * len(self.edits)
        pairs = zip(self.edits, given, strict=True)
        object.__setattr__(self, "grades", tuple(_graded(*pair) for pair in pairs))

    @property
    def of_step(self) -> bool:
        """Does it change the step or the loop?"""
        known = fixes.all()
        return any(known[edit.fix].kind != "pipeline" for edit in self.edits)

    def without_place(self, fix: str) -> SavedPlan:
        """The same, with nothing to say about this fix in the source."""
        places = tuple(each for each in self.places if each["edit"]["fix"] != fix)
        return replace(self, places=places)

    def check_grades(self, allowed: tuple[Grade, ...]) -> None:
        """Raise where the plan holds an edit that the user has not allowed."""
        if self.validation is not None:
            self.validation.check_grades(allowed)
        for edit, grade in zip(self.edits, self.grades, strict=True):
            if grade not in allowed:
                raise PlanError(
                    f"the plan asks for {edit.fix}, which is {grade}: "
                    f"{_MEANS[grade]}. Allow it with --allow {grade}, or remove the "
                    "plan's file to measure again without it"
                    if grade != "advice"
                    else f"the plan asks for {edit.fix}, which needs a person. Remove "
                    "the plan's file to measure again"
                )

    def to_dict(self) -> dict[str, Any]:
        inner = self.validation
        return {
            "feedline_plan": SCHEMA,
            "where": self.where,
            "pipeline": self.pipeline,
            "made_for": self.made_for.to_list(),
            "edits": [
                {**edit.to_dict(), "grade": grade}
                for edit, grade in zip(self.edits, self.grades, strict=True)
            ],
            "places": [dict(place) for place in self.places],
            "report": self.report,
            **({} if inner is None else {_VALIDATION: inner.to_dict()}),
        }

    @classmethod
    def from_dict(cls, data: Any) -> SavedPlan:
        """The plan that was written so; PlanError names the field that is wrong."""
        if not isinstance(data, dict) or type(data.get("feedline_plan")) is not int:
            raise PlanError(f"it is not a feedline plan of schema {SCHEMA}")
        if data["feedline_plan"] != SCHEMA:
            raise PlanError(
                f"its schema is {data['feedline_plan']!r:.60} and this feedline reads "
                f"schema {SCHEMA}"
            )
        if "made_for" not in data:
            raise PlanError(
                "it is of an older feedline: it does not say what it was proved on"
            )
        inner = data.get(_VALIDATION)
        if inner is not None and isinstance(inner, dict) and _VALIDATION in inner:
            raise _damaged(f"{_VALIDATION} has a {_VALIDATION} of its own")
        _only({k: v for k, v in data.items() if k != _VALIDATION}, _FIELDS, "it")
        listed = _list(data["edits"], "edits", _MOST_EDITS)
        pairs = [_edit(each, f"edits[{n}]") for n, each in enumerate(listed)]
        try:
            made_for = Binding.from_list(data["made_for"])
        except NotBound as reason:
            raise _damaged(str(reason)) from None
        plan = cls(
            _text(data["where"], "where"),
            _text(data["pipeline"], "pipeline"),
            tuple(edit for edit, _ in pairs),
            _report(data["report"]),
            tuple(_place(each) for each in _list(data["places"], "places")),
            tuple(grade for _, grade in pairs),
            made_for,
            None if inner is None else cls.from_dict(inner),
        )
        if plan.pipeline != made_for.pipeline:
            raise _damaged(f"pipeline {plan.pipeline!r:.60} is not that of made_for")
        if plan.of_step and not made_for.of_step:
            raise _damaged("made_for has no part 'step', which its edits change")
        return plan


_MEANS: Mapping[str, str] = {
    "reordered": "the order of elements inside an epoch changes",
    "numeric": "rounding, or the optimizer's treatment of untouched rows, changes",
}


def _damaged(what: str) -> PlanError:
    return PlanError(f"it is damaged: {what}")


def _only(data: Any, names: tuple[str, ...], at: str) -> None:
    if not isinstance(data, dict):
        raise _damaged(f"{at} must be an object, not {data!r:.60}")
    for name in names:
        if name not in data:
            raise _damaged(f"{at} has no {name!r}")
    unknown = [name for name in data if name not in names]
    if unknown:
        raise _damaged(f"{at} has {unknown[0]!r:.60}, which feedline does not know")


def _list(value: Any, at: str, most: int = 100_000) -> list[Any]:
    if not isinstance(value, list):
        raise _damaged(f"{at} must be a list, not {value!r:.60}")
    if len(value) > most:
        raise _damaged(f"{at} has {len(value)} items, and {most} are the most")
    return value


def _text(value: Any, at: str) -> str:
    if not isinstance(value, str):
        raise _damaged(f"{at} must be a text, not {value!r:.60}")
    return value


def _edit(data: Any, at: str) -> tuple[Edit, Grade]:
    _only(data, ("fix", "stage", "args", "grade"), at)
    fix = fixes.all().get(_text(data["fix"], f"{at}.fix"))
    if fix is None:
        raise _damaged(f"{at}.fix is {data['fix']!r:.60}, which is no known fix")
    if not isinstance(data["args"], dict):
        raise _damaged(f"{at}.args must be an object, not {data['args']!r:.60}")
    if wrong := fix.takes.problem(data["stage"], data["args"]):
        raise _damaged(f"{at} ({fix.name}): {wrong}")
    edit, grade = Edit(fix.name, data["stage"], data["args"]), data["grade"]
    if not isinstance(grade, str) or grade not in GRADES:
        raise _damaged(f"{at}.grade is {grade!r:.60}, which is not a grade")
    least = _graded(edit, grade)
    if least != grade:
        raise _damaged(f"{at}.grade is {grade}, and {fix.name} is {least} at best")
    return edit, grade


def _place(data: Any) -> Mapping[str, Any]:
    edit = data.get("edit") if isinstance(data, dict) else None
    if not isinstance(edit, dict) or not isinstance(edit.get("fix"), str):
        raise _damaged(f"places must say of which edit they are, not {data!r:.60}")
    return cast(Mapping[str, Any], data)


def _report(value: Any) -> Mapping[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise _damaged(f"report must be an object or null, not {value!r:.60}")
    return cast("Mapping[str, Any] | None", value)


def _graded(edit: Edit, grade: Grade) -> Grade:
    """Not better than such an edit can be, whatever the file says."""
    fix = fixes.all().get(edit.fix)
    least = fix.least(edit) if fix is not None else "advice"
    return max(grade, least, key=GRADES.index)


def load(path: Path) -> SavedPlan:
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise PlanError(f"cannot read the plan {path}: it is not a file")
        if facts.st_size > _MOST_BYTES:
            raise PlanError("it is too large to be a plan")
        return SavedPlan.from_dict(parsed(path.read_bytes()))
    except OSError as error:
        raise PlanError(f"cannot read the plan {path}: {error.strerror}") from None
    except (ValueError, RecursionError, PlanError) as error:
        raise unusable(path, error) from None


def unusable(path: Path, reason: Exception) -> PlanError:
    return PlanError(
        f"cannot use the plan {path}: {reason}. Remove the file to measure again"
    )


def parsed(content: bytes) -> Any:
    """JSON without what JSON does not have (NaN) or what could mean two things (a
    name twice). Raises ValueError or RecursionError."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("it is damaged: a field is there twice")
        return found

    def refused(name: str) -> Any:
        raise ValueError(f"it is damaged: {name} is not a JSON number")

    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    return json.loads(text, object_pairs_hook=once, parse_constant=refused)


def save(plan: SavedPlan, path: Path) -> None:
    """Whole or not at all."""
    try:
        whole.write(path, json.dumps(plan.to_dict(), indent=2) + "\n")
    except OSError as error:
        raise FeedlineError(f"cannot write {path}: {error.strerror}") from None
