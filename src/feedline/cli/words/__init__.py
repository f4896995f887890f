"""`feedline words`: train word vectors and use them.

Commands import what they need when they run: see main.py.
"""

from __future__ import annotations

import typer

from feedline.cli.words.analogy import analogy
from feedline.cli.words.classify import app as classify
from feedline.cli.words.evaluate import evaluate
from feedline.cli.words.export import WithFormats, export
from feedline.cli.words.options import Grouped
from feedline.cli.words.similar import similar
from feedline.cli.words.train import train

app = typer.Typer(
    name="words",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=False,
)

app.command(cls=Grouped)(train)
app.command()(similar)
app.command()(analogy)
app.command()(evaluate)
app.command(cls=WithFormats)(export)
app.add_typer(classify, name="classify")


@app.callback(invoke_without_command=True)
def words(context: typer.Context) -> None:
    """Train word vectors from text, and use them.

    \b
    Examples:
      feedline words train corpus.txt -o vectors
      feedline words similar vectors king
      feedline words analogy vectors "king - man + woman"
      feedline words evaluate vectors --analogies questions-words.txt
      feedline words export vectors vectors.bin
      feedline words classify train labelled.txt -o topics
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
