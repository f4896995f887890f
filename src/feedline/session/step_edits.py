"""The edits of the step in a live model, and how they come out of it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from feedline import fixes
from feedline.fixes.fix import Edit
from feedline.fixes.target import Target


def step_edits(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    known = fixes.all()
    return tuple(edit for edit in edits if known[edit.fix].install is not None)


@contextmanager
def installed(target: Target, edits: tuple[Edit, ...]) -> Iterator[None]:
    """Inside, the model has these edits of the step and a train function that
    goes with them; after it, its own again."""
    undo = install(target, edits)
    try:
        yield
    finally:
        undo()


def install(target: Target, edits: tuple[Edit, ...]) -> Callable[[], None]:
    """Put the edits of the step into the model; how to take them out comes back."""
    model = target.model
    before = model.train_function
    undo: list[Callable[[], None]] = []
    try:
        for edit in edits:
            fix = fixes.all()[edit.fix]
            if fix.install is not None:
                undo.append(fix.install(target, edit))
        made = model.train_function = target.train_function()
    except BaseException:
        _take_out(undo)
        model.train_function = before
        raise

    def remove() -> None:
        _take_out(undo)
        if model.train_function is made:  # else the script has put its own there
            model.train_function = before

    return remove


def _take_out(undo: list[Callable[[], None]]) -> None:
    while undo:
        undo.pop()()
