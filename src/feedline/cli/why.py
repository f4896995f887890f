"""`feedline why`: run a script until it trains, measure, say why it is slow."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer


def positive(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{value} is not a number of seconds above 0")
    return value


def why(
    script: Annotated[
        str,
        typer.Argument(
            metavar="SCRIPT", help="The training script.", show_default=False
        ),
    ],
    args: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGS", help="Its own arguments, untouched.", show_default=False
        ),
    ] = None,
    module: Annotated[
        bool,
        typer.Option("-m", help="SCRIPT is a module, as in `python -m pkg.train`."),
    ] = False,
    json: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Save the report as JSON."),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            metavar="N", callback=positive, help="How long measuring may take."
        ),
    ] = 60.0,
    loop: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Measure the Nth training loop; otherwise the first that lasts.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite FILE even if it is not a report."),
    ] = False,
    color: Annotated[
        bool | None,
        typer.Option("--color/--no-color", help="Colour; otherwise on a terminal."),
    ] = None,
) -> None:
    """Measure a training script and say why it is slow.

    Runs SCRIPT until its training loop is warm, measures, prints the verdict
    and stops it. Nothing of it is changed.

    feedline's own options stand before SCRIPT. Everything after it goes to the
    script, as with `python SCRIPT ARGS`.

    \b
    Examples:
      feedline why train.py
      feedline why train.py --epochs 3 --data ./images
      feedline why --json report.json --seconds 30 train.py
      feedline why -m mypackage.train --config small.toml

    \b
    Exit codes: 0 done, 2 bad usage or bad input, 3 no training loop was found,
    and the script's own code where the script failed by itself.
    """
    from feedline.report import json as report_json

    # The script may change its directory: the file's place is settled before.
    path = None if json is None else report_json.check_target(json, force=force)

    from feedline import session

    report, code = session.why_script([script, *(args or ())], module, seconds, loop)
    if report is not None:
        try:
            report.show(color=color)
        finally:
            if path is not None:
                report_json.save(report, path, force=force)
    raise typer.Exit(code)
