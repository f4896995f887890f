"""How a fix reads in the user's source: what a fix's file says of it, and the tools it
is given. Plain data and functions over a protocol: `report/patches` implements `Source`
with libcst and knows no fix by name.

    PATCH = Patch(comment=..., edit=...)      in the fix's file

`edit` makes the change at the call that the edit is about, and raises `CannotEdit`
where it cannot be made there; then `comment` says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from feedline.fixes.fix import Edit
from feedline.job.tfdata import ops
from feedline.job.tfdata.pipeline import Pipeline, Stage

if TYPE_CHECKING:
    from feedline.fixes.place import Place

BY_HAND = ""
"""Why an edit cannot be made, where the comment itself says it."""
_MOST_LABEL = 60


class CannotEdit(Exception):
    """This change cannot be made as an edit here; the message says why."""


class Source(Protocol):
    """The source at one call, which is followed through all changes. Whatever cannot be
    done raises `CannotEdit`, and the file is as it was."""

    @property
    def name(self) -> str:
        """The call's method or function."""

    @property
    def text(self) -> bytes:
        """The whole file."""

    def autotune(self) -> str:
        """How `tf.data.AUTOTUNE` is called here."""

    def data_module(self) -> str | None:
        """How `tf.data` is called here, None where it has no name."""

    def tensorflow_module(self) -> str | None:
        """How TensorFlow is called here, None where it has no name."""

    def takes(self, parameter: str) -> bool:
        """Does such a call have this parameter?"""

    def argument(self, parameter: str) -> str | None:
        """The argument as it is written, None where it is not given."""

    def set_argument(self, parameter: str, value: str) -> None:
        """The call with this argument, in place of one that is there."""

    def append(self, method: str, arguments: str = "", /) -> None:
        """`.method(arguments)` after the call, unless it stands there already."""

    def append_before(self, method: str) -> None:
        """`.method()` right before the call, in the same chain."""

    def to_end(self) -> None:
        """Go on to the last call that was added behind this one."""

    def to_next(self) -> bool:
        """Go on to the next call of the chain; False where there is none."""

    def before(self) -> str | None:
        """The name of the call before this one in the chain."""

    def move_up(self) -> None:
        """Change places with the call before."""

    def passed_by(self, names: tuple[str, ...], /) -> Iterator[str]:
        """Change places with the calls that follow, one by one, as long as they have
        one of these names."""

    def may_stand_before(self) -> bool:
        """Does this filter ask only for what the map before it hands on unchanged?"""

    def set_compile(self, parameter: str, value: str) -> None:
        """As `set_argument`, of the model's `compile`, which may be one's own."""

    def set_attribute(self, attribute: str, value: str) -> bool:
        """`model.attribute = value` where the script sets it; False where not."""

    def call_after(
        self, module: str, function: str, names: tuple[str, ...], arguments: str, /
    ) -> None:
        """A call of this function with the model, as the next statement, and its
        import under one of these names."""


def _as_run(place: Place, _: str) -> str:
    return f"`feedline run` applies it to {label(place)}"


@dataclass(frozen=True)
class Patch:
    """`comment` is what to do, given the place and how the file calls AUTOTUNE; `edit`
    does it, None where it is for a person. `at_end`: it is about the end of the
    pipeline; `whole_file`: it looks at functions anywhere in the file. `stages` are
    those that it is about, where the edit does not name one; `over` is how many stages
    the one it names moves before,
    given all edits. `of_function` is the edit where the step is a
    function of the user's; `said_with` names a fix whose edit of such a function says
    this one as well."""

    comment: Callable[[Place, str], str] = _as_run
    edit: Callable[[Source, Place], None] | None = None
    at_end: bool = False
    whole_file: bool = False
    stages: Callable[[Pipeline, Sequence[Edit]], list[Stage]] | None = None
    over: Callable[[Stage, Sequence[Edit]], int] | None = None
    of_function: Callable[[Edit, Sequence[Edit]], Edit] | None = None
    said_with: str = ""


def label(place: Place) -> str:
    """What to call the stage in a sentence."""
    text = place.label or place.op or "this stage"
    return text if len(text) <= _MOST_LABEL else f"{text[:_MOST_LABEL]}..."


def give_threads(place: Place, tune: str) -> str:
    """The comment of every fix that runs a stage in parallel."""
    return f"give {label(place)} num_parallel_calls={tune}"


def run_parallel(source: Source, _: Place) -> None:
    source.set_argument("num_parallel_calls", source.autotune())


def move_before(source: Source, may_pass: Callable[[str], bool], most: int) -> None:
    """As far up as it may, over `most` calls, and over a map at least."""
    passed: list[str] = []
    while len(passed) < most:
        before = source.before()
        if before is None or not may_pass(before):
            break
        source.move_up()
        passed.append(before)
    if ops.MAP not in passed:
        raise CannotEdit("the map before it is not in the same chain, or not the same")
