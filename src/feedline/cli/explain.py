"""`feedline explain`: the page of a cause or a fix, or the list of causes."""

from __future__ import annotations

import difflib
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from feedline.errors import UnknownCause

if TYPE_CHECKING:
    from collections.abc import Mapping

    from feedline.causes import Cause


def explain(
    cause: Annotated[
        str | None,
        typer.Argument(
            metavar="CAUSE",
            help="The name of a cause or a fix, as a report gives it.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print what a cause means and how to fix it, or what a fix does.

    Without a name, lists all causes.

    \b
    Examples:
      feedline explain
      feedline explain serial-map
      feedline explain parallel-map
    """
    from feedline import causes, fixes

    known = causes.all()
    cures = fixes.all()
    if cause is None:
        _list(known)
        return
    if cause in known:
        _page(known[cause].page)
    elif cause in cures:
        _page(cures[cause].page)
    else:
        raise UnknownCause(_unknown(cause, [*known, *cures]))


def _list(known: Mapping[str, Cause]) -> None:
    width = max(map(len, known), default=0) + 2
    for name in sorted(known):
        head, indent = f"{name:<{width}}", " " * width
        typer.echo(
            textwrap.fill(head + known[name].title, 80, subsequent_indent=indent)
        )


def _unknown(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return f"there is no cause {name!r}; {hint}`feedline explain` lists them"


def _page(markdown: str) -> None:
    """Drawn on a terminal, as it is written elsewhere: Markdown is text."""
    if not sys.stdout.isatty():
        typer.echo(markdown.rstrip())
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(Markdown(markdown), width=min(console.width, 80))
