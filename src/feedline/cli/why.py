"""`feedline why`: run a script until it trains, measure, say why it is slow."""

from __future__ import annotations

import typer

from feedline.cli.options import (
    Arguments,
    Color,
    Force,
    Html,
    Json,
    Loop,
    Module,
    Script,
    Seconds,
)


def why(
    script: Script,
    args: Arguments = None,
    module: Module = False,
    json: Json = None,
    html: Html = None,
    seconds: Seconds = 60.0,
    loop: Loop = None,
    force: Force = False,
    color: Color = None,
) -> None:
    """Measure a training script and say why it is slow.

    Runs SCRIPT until its training loop is warm, measures, prints the verdict
    and stops it. It changes nothing.

    feedline's own options come before SCRIPT. Everything after it goes to the
    script, as with `python SCRIPT ARGS`.

    \b
    Examples:
      feedline why train.py
      feedline why train.py --epochs 3 --data ./images
      feedline why --json report.json --seconds 30 train.py
      feedline why --html report.html train.py
      feedline why -m mypackage.train --config small.toml

    \b
    Exit codes: 0 done, 2 bad usage or bad input, 3 no training loop was found,
    and the script's own code where the script failed by itself.
    """
    from feedline.cli.outputs import outputs

    save = outputs(json, html, force=force)

    from feedline.session import parent

    report, code = parent.why_script([script, *(args or ())], module, seconds, loop)
    if report is not None:
        try:
            report.show(color=color)
        finally:
            save(report)
    raise typer.Exit(code)
