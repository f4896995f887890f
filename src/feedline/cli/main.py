"""`feedline`: the commands, and how an error reaches the user.

Commands import what they need when they run, so that `feedline --help` loads
neither TensorFlow nor NumPy.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from feedline import __version__
from feedline.cli.explain import explain
from feedline.cli.run import run
from feedline.cli.show import show
from feedline.cli.trace import trace
from feedline.cli.why import why
from feedline.cli.words import app as words
from feedline.errors import FeedlineError

# Plain help, without boxes: it reads the same in a log and where only ASCII can
# be shown. Tracebacks are Python's own: they are bugs, or the user's script's.
app = typer.Typer(
    name="feedline",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

# Our options stand before SCRIPT; what follows it is the script's own.
app.command(context_settings={"allow_interspersed_args": False})(why)
app.command(context_settings={"allow_interspersed_args": False})(run)
app.add_typer(words, name="words")
app.command()(explain)
app.command()(show)
app.command()(trace)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    """Finds out why a TensorFlow training job is slow, and makes it fast.

    \b
    Examples:
      feedline why train.py                 the verdict on a training script
      feedline why --json r.json train.py   the same, saved as JSON
      feedline run train.py                 make it fast, and run it to its end
      feedline show r.json                  print a saved report again
      feedline trace logs                   the verdict from a profiler capture
      feedline explain serial-map           what a cause means and how to fix it
      feedline words train text.txt -o en   word vectors from raw text
    """
    if version:
        typer.echo(f"feedline {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run one command. Bad input is one line on standard error, no traceback."""
    try:
        try:
            app(prog_name="feedline")
        finally:
            sys.stdout.flush()
    except FeedlineError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader has gone, as in `feedline show r.json | head`. What is still
        # buffered must not raise once more when Python closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _complain(message: str) -> None:
    from feedline.report.text import printable_lines

    typer.echo(f"feedline: {printable_lines(message)}", err=True)
