"""The JSON Schema of a report, made from the types of report.py.

    python -m feedline.report.schema > src/feedline/report/schema.json

A test sees that the file is what this makes.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec

from feedline.report.report import Amount, Report

# What every report has, though a reader can do without some of it.
_CONTRACT = ["stages", "findings", "fixes", "after", "proof", "seconds"]
_BASIS = {
    "description": "What the verdict was made from; may change with `format`.",
    "type": ["object", "null"],
    "required": ["job", "measurement", "format"],
}


def schema() -> dict[str, Any]:
    made = msgspec.json.schema(Report, schema_hook=_number)
    defined = made.pop("$defs")
    report = defined.pop("Report")
    report["properties"]["basis"] = _BASIS
    report["required"] = ["schema", *report["required"], *_CONTRACT]
    known = {name: each for name, each in defined.items() if name.endswith("Row")}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **report,
        "title": "feedline report, schema 1",
        "description": "Fields may be added, never renamed. null: not measured.",
        "$defs": {**known, "Timeline": defined["Timeline"]},
    }


def _number(kind: type) -> dict[str, Any]:
    least = {"minimum": 0} if issubclass(kind, Amount) else {}
    return {"type": ["number", "null"], **least}


def text() -> str:
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
