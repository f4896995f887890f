"""`feedline show`: a saved report, judged again and printed."""

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
    as_saved: Annotated[
        bool,
        typer.Option("--as-saved", help="Print the verdict as it was saved."),
    ] = False,
    html: Html = None,
    force: Force = False,
    color: Color = None,
) -> None:
    """Print a saved report again. Nothing is run.

    The measurement in it is judged by the causes that this feedline knows; with
    --as-saved the verdict stays as it was when it was saved.

    \b
    Examples:
      feedline show report.json
      feedline show --as-saved report.json
      feedline show --no-color report.json > verdict.txt
      feedline show --html report.html report.json
    """
    from feedline.cli.outputs import outputs
    from feedline.errors import ReportError
    from feedline.report.json import load

    report = load(file)
    save = outputs(None, html, force=force)
    if not as_saved and report.basis is None:
        typer.echo(
            "feedline: this report has no measurement that this feedline can judge; "
            "shown as saved",
            err=True,
        )
    elif not as_saved:
        from feedline.session.judge import judge_again

        try:
            report = judge_again(report)
        except ReportError as error:
            raise ReportError(f"cannot read {file}: {error}") from None
    report.show(color=color)
    save(report)
