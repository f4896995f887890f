"""`feedline show`: print a saved report again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def show(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A report that `feedline why --json` saved.",
            show_default=False,
        ),
    ],
    color: Annotated[
        bool | None,
        typer.Option("--color/--no-color", help="Colour; otherwise on a terminal."),
    ] = None,
) -> None:
    """Print a saved report again. Nothing is run.

    \b
    Examples:
      feedline show report.json
      feedline show --no-color report.json > verdict.txt
    """
    from feedline.report.json import load

    load(file).show(color=color)
