"""`feedline trace`: the verdict from a profiler capture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from feedline.cli.options import Color, Force, Html, Json

_LARGE = 50_000_000  # what takes more than two seconds says that it began


def trace(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="A log directory, or an .xplane.pb file (.gz too).",
            show_default=False,
        ),
    ],
    json: Json = None,
    html: Html = None,
    force: Force = False,
    color: Color = None,
) -> None:
    """Say why training is slow, from a capture of TensorFlow's or JAX's profiler.

    PATH is a log directory as TensorBoard has it (the newest run in it is taken,
    every host's capture of it), or one .xplane.pb file. Nothing is run, and
    TensorFlow is not needed.

    What a capture shows was observed, not tried: `feedline why` tries.

    \b
    Examples:
      feedline trace logs
      feedline trace logs/plugins/profile/2026_05_01_12_00_00/host.xplane.pb
      feedline trace --json report.json host.xplane.pb
      feedline trace --html report.html host.xplane.pb
    """
    from feedline.cli.outputs import outputs

    save = outputs(json, html, force=force)

    from feedline.errors import FeedlineError
    from feedline.files.sizes import size as shown_size
    from feedline.measure.profile.source import find
    from feedline.session import captured

    files = find(path)
    if (json or html) and len(files) > 1:
        raise FeedlineError(
            f"--json and --html take one report and {path} has {len(files)} hosts; "
            f"give one host's file, such as {files[0]}"
        )
    for number, file in enumerate(files):
        if number:
            typer.echo()
        size = file.stat().st_size
        if size > _LARGE:
            typer.echo(f"feedline: reading {file}, {shown_size(size)}", err=True)
        report = captured.report_of(file)
        report.show(color=color)
        save(report)
