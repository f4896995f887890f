"""What the commands that ask about vectors share: arguments, loading, a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from feedline.words.vectors.vectors import Neighbours, Vectors

Source = Annotated[
    str,
    typer.Argument(
        metavar="VECTORS",
        help="A directory of vectors, or a file of them.",
        show_default=False,
    ),
]
Number = Annotated[
    int, typer.Option("-n", "--number", metavar="N", min=1, help="How many answers.")
]
Restrict = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Look among the N most frequent words only."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help="The format of VECTORS, where it is not recognised.",
    ),
]


def load(path: Path, format_name: str | None = None) -> Vectors:
    """The vectors, as any of the commands takes them."""
    from feedline.words import formats

    return formats.read(path, format_name)


def print_neighbours(near: Neighbours, title: str | None = None) -> None:
    """A column of words and one of cosines, within 80 cells."""
    from rich.cells import cell_len

    from feedline.report.text import printable, shorten

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    if title is not None:
        typer.echo(shorten(printable(title, encoding), 78))
    words = [shorten(printable(word, encoding), 60) for word, _ in near]
    width = max([*map(cell_len, words), 12])
    for word, (_, score) in zip(words, near, strict=True):
        typer.echo(f"  {word}{' ' * (width - cell_len(word))}  {score:7.4f}")
