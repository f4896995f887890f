"""`feedline show`: print a saved report again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from feedline.cli.options import Color, Force, Html


def show(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A report that `feedline why --json` saved.",
            show_default=False,
        ),
    ],
    html: Html = None,
    force: Force = False,
    color: Color = None,
) -> None:
    """Print a saved report again. Nothing is run.

    \b
    Examples:
      feedline show report.json
      feedline show --no-color report.json > verdict.txt
      feedline show --html report.html report.json
    """
    from feedline.cli.outputs import outputs
    from feedline.report.json import load

    report = load(file)
    save = outputs(None, html, force=force)
    report.show(color=color)
    save(report)
