"""`feedline words classify`: train a text classifier, and use it.

Commands import what they need when they run: see main.py.
"""

from __future__ import annotations

import typer

from feedline.cli.words.classify.export import export
from feedline.cli.words.classify.measure import measure
from feedline.cli.words.classify.predict import predict
from feedline.cli.words.classify.train import train
from feedline.cli.words.options import Grouped

app = typer.Typer(
    name="classify",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=False,
)

app.command(cls=Grouped)(train)
app.command()(predict)
app.command("test")(measure)
app.command()(export)


@app.callback(invoke_without_command=True)
def classify(context: typer.Context) -> None:
    """Train a classifier of texts, and use it.

    The model is fastText's: the mean of the vectors of a text's words and word
    n-grams, and a softmax over the labels.

    \b
    Examples:
      feedline words classify train train.txt -o topics
      feedline words classify test topics test.txt
      echo "an early exit" | feedline words classify predict topics -
      feedline words classify export topics model
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
