"""`Place`: one line of the user's source that an edit is about. Plain data, so that a
saved plan can hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from feedline.errors import FeedlineError
from feedline.fixes.fix import Edit


@dataclass(frozen=True)
class Place:
    """One line that an edit is about.

    `op` is the stage's op, `fit` or `compile` for an edit of the step, `def` for a
    function that is the step, empty where only the line is known. One line can make
    several stages of a kind: this is number `nth` of the `of` that the line made,
    `alike` of them with this label. `over` is how many stages a moved one may move
    before. `code` is the line as it was when the job ran: where it now reads
    otherwise, the file has changed and is left alone.
    """

    edit: Edit
    file: str
    line: int
    op: str
    label: str = ""
    nth: int = 0
    of: int = 1
    alike: int = 1
    over: int = 1
    code: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "edit": self.edit.to_dict(),
            "file": self.file,
            "line": self.line,
            "op": self.op,
            "label": self.label,
            "nth": self.nth,
            "of": self.of,
            "alike": self.alike,
            "over": self.over,
            "code": self.code,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Place:
        """Raises `FeedlineError` where `data` is no place."""
        try:
            edit = data["edit"]
            stage = edit["stage"]
            return cls(
                Edit(
                    str(edit["fix"]),
                    None if stage is None else int(stage),
                    dict(edit["args"]),
                ),
                str(data["file"]),
                int(data["line"]),
                str(data["op"]),
                str(data["label"]),
                int(data["nth"]),
                int(data["of"]),
                int(data["alike"]),
                int(data["over"]),
                str(data["code"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise FeedlineError(
                f"the plan does not say where its changes belong: {error!r}. Remove "
                "its file to measure again"
            ) from None
