"""`feedline words analogy`: king - man + woman."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from feedline.cli.words.query import (
    Format,
    Number,
    Restrict,
    Source,
    load,
    print_neighbours,
)
from feedline.errors import FeedlineError


def analogy(
    vectors: Source,
    question: Annotated[
        list[str],
        typer.Argument(
            metavar="QUESTION",
            help='"king - man + woman", or three words: man king woman.',
            show_default=False,
        ),
    ],
    number: Number = 10,
    restrict: Restrict = None,
    format_name: Format = None,
) -> None:
    """Answer an analogy by adding and subtracting words.

    QUESTION is a sum such as "king - man + woman", with spaces round the signs
    (a word may hold a hyphen). Three words without signs ask the same the
    other way round: `man king woman` is "man is to king as woman is to what?".
    The words of the question are never the answer.

    VECTORS is a directory that `feedline words train` wrote, or any file of
    vectors that feedline reads.

    \b
    Examples:
      feedline words analogy vectors "king - man + woman"
      feedline words analogy vectors paris - france + italy
      feedline words analogy vectors man king woman -n 3
    """
    plus, minus = parse(question)
    found = load(Path(vectors), format_name)
    print_neighbours(found.analogy(plus, minus, number, restrict))


def parse(question: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that are added and those that are taken away."""
    parts = " ".join(question).split()
    if not any(part in ("+", "-") for part in parts):
        if len(parts) != 3:
            raise _unclear(question)
        first, second, third = parts
        return [second, third], [first]
    plus: list[str] = []
    minus: list[str] = []
    side: list[str] | None = plus
    for part in parts:
        if part in ("+", "-"):
            # A sign may open the question; two in a row say nothing.
            if side is not None and (plus or minus or side is minus):
                raise _unclear(question)
            side = plus if part == "+" else minus
        elif side is None:
            raise _unclear(question)
        else:
            side.append(part)
            side = None
    if side is not None:
        raise _unclear(question)
    return plus, minus


def _unclear(question: Sequence[str]) -> FeedlineError:
    return FeedlineError(
        f'"{" ".join(question)}" is not a question. Ask "king - man + woman", with a '
        "sign between every two words, or give three words: man king woman"
    )
