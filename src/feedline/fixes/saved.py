"""A plan in a file: what to apply, to which pipeline, and the report it came from.

JSON, so that it can be read and kept with the script. It is applied only to the
pipeline that it was made for.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import Edit

SCHEMA = 1
_MOST_BYTES = 50_000_000


class PlanError(FeedlineError):
    """A saved plan is missing, damaged, or made for another pipeline."""


@dataclass(frozen=True)
class SavedPlan:
    """`where` is the line of the loop, `pipeline` the fingerprint of what it
    reads; `places` says where in the source the edits belong. No edits is a plan too:
    nothing was found that helps."""

    where: str
    pipeline: str
    edits: tuple[Edit, ...] = ()
    report: Mapping[str, Any] | None = field(default=None, repr=False)
    places: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "feedline_plan": SCHEMA,
            "where": self.where,
            "pipeline": self.pipeline,
            "edits": [edit.to_dict() for edit in self.edits],
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
            places = tuple(dict(place) for place in data["places"])
            plan = cls(
                str(data["where"]), str(data["pipeline"]), edits, data["report"], places
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
