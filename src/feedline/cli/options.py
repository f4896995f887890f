"""The arguments that `why` and `run` share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer


def _positive(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{value} is not a number of seconds above 0")
    return value


def _positive_if_given(value: float | None) -> float | None:
    return None if value is None else _positive(value)


def _given_to_the_script(
    context: typer.Context, arguments: list[str] | None
) -> list[str] | None:
    """Say so where they look as if they were meant for feedline."""
    ours = {name for each in context.command.params for name in each.opts}
    names = [given.partition("=")[0] for given in arguments or ()]
    same = [name for name in names if name in ours and name.startswith("--")]
    if same:
        typer.echo(
            f"feedline: {', '.join(same)}: passed to the script, like everything after "
            "its name",
            err=True,
        )
    return arguments


Script = Annotated[
    str,
    typer.Argument(metavar="SCRIPT", help="The training script.", show_default=False),
]
Arguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ARGS",
        callback=_given_to_the_script,
        help="Its own arguments, passed on untouched.",
        show_default=False,
    ),
]
Module = Annotated[
    bool,
    typer.Option("-m", help="SCRIPT is a module, as in `python -m pkg.train`."),
]
Json = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Save the report as JSON."),
]
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Save the report as an HTML page."),
]
Seconds = Annotated[
    float,
    typer.Option(metavar="N", callback=_positive, help="How long measuring may take."),
]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="N",
        callback=_positive_if_given,
        help="How long measuring may take; by default a tenth of the training.",
    ),
]
Loop = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Only the Nth training loop; otherwise the first long enough to measure.",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Overwrite FILE even if it is not feedline's."),
]
Color = Annotated[
    bool | None,
    typer.Option("--color/--no-color", help="Colour; by default only on a terminal."),
]
