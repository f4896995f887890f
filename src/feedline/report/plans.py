"""A plan from a file, checked whole: the plan itself, the report that it came from and
the places in the source that it names. Called before the script is started, so that a
damaged plan costs nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from feedline.errors import FeedlineError, ReportError
from feedline.fixes import saved
from feedline.fixes.place import Place
from feedline.fixes.saved import PlanError, SavedPlan
from feedline.report.json import from_json

_COUNTS = ("line", "nth", "of", "alike", "over")
_MOST = 10**9


def load(path: Path) -> SavedPlan:
    """The plan in this file; PlanError says what is wrong and names the field."""
    plan = saved.load(path)
    try:
        check(plan)
    except (PlanError, RecursionError) as error:
        raise saved.unusable(path, error) from None
    return plan


def check(plan: SavedPlan) -> None:
    if plan.report is not None:
        try:
            from_json(json.dumps(plan.report))
        except (ReportError, ValueError, OverflowError) as error:
            raise PlanError(f"its report is damaged: {error}") from None
        _finite(plan.report, "report")
    for number, place in enumerate(plan.places):
        _check_place(place, f"places[{number}]")


def _check_place(data: Mapping[str, Any], at: str) -> None:
    try:
        again = Place.from_dict(data).to_dict()
    except (FeedlineError, OverflowError, AttributeError) as error:
        raise PlanError(f"{at} is damaged: {error}") from None
    for name, value in again.items():
        if type(data[name]) is not type(value) or data[name] != value:
            raise PlanError(f"{at}.{name} is damaged: {data[name]!r:.60}")
        if name in _COUNTS and not 0 <= value < _MOST:
            raise PlanError(f"{at}.{name} must be a small number, not {value!r:.60}")
    unknown = [name for name in data if name not in again]
    if unknown:
        raise PlanError(f"{at} has {unknown[0]!r:.60}, which feedline does not know")


def _finite(value: Any, at: str) -> None:
    """`1e999` is JSON, and infinity for Python: no report holds it."""
    if isinstance(value, float) and not math.isfinite(value):
        raise PlanError(f"its report is damaged: {at} is not a finite number")
    if isinstance(value, Mapping):
        for name, item in value.items():
            _finite(item, f"{at}.{name}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _finite(item, f"{at}[{number}]")
