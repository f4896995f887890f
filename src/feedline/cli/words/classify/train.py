"""`feedline words classify train`: a classifier from labelled texts."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedline.cli.words.classify.layout import (
    FormatName,
    LabelColumn,
    TextColumn,
    columns,
)
from feedline.cli.words.options import Out, Quiet, plain, takes
from feedline.words.classify.options import Request

if TYPE_CHECKING:
    from feedline.words.classify import Classifier


@takes(Request)
def train(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="Labelled texts: files, globs or directories; - is stdin.",
            show_default=False,
        ),
    ],
    out: Out,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Overwrite what is in DIR.", rich_help_panel="Output"
        ),
    ] = False,
    quiet: Quiet = False,
    format_name: FormatName = None,
    label: LabelColumn = None,
    text: TextColumn = None,
    **options: Any,
) -> None:
    """Train a classifier from labelled texts.

    DATA has a text on each line, its labels in front, as fastText has them:

    \b
      __label__sports an early exit for the champion
      __label__politics __label__europe ministers meet in rome

    A .csv or .tsv has a column `label` and a column `text`, or no header, and
    then the label comes first. Any file may be compressed: .gz .xz .zst .bz2.

    Words are split at white space. For ordinary text, with capitals and
    punctuation, --lower --pattern '\\w+' is nearly always better.

    \b
    Examples:
      feedline words classify train train.txt -o topics
      feedline words classify train reviews.csv -o mood --text title --text body
      feedline words classify train train.txt -o topics --pretrained glove.txt
    """
    from feedline.cli.words.bar import Bar
    from feedline.words.classify import directory
    from feedline.words.classify.training import train as run
    from feedline.words.formats.shared import bundle

    bundle.check(directory.KIND, out, force=force)
    bar = Bar(quiet=quiet)
    try:
        with bar:
            made = run(
                data,
                format=format_name,
                progress=bar,
                **columns(label, text),
                **plain(options),
            )
            made.save(out, force=force)
    except KeyboardInterrupt:
        typer.echo(f"feedline: interrupted; {out} was not written.", err=True)
        raise typer.Exit(130) from None
    if not quiet:
        _summary(made, out, bar.seconds)


def _summary(made: Classifier, out: Path, seconds: float) -> None:
    about = made.about
    grams = f", {len(made.buckets):,} n-grams" if len(made.buckets) else ""
    typer.echo(
        f"{out}: {len(made.labels):,} labels, {about['texts']:,} texts, "
        f"{len(made.words):,} words{grams}"
    )
    typer.echo(
        f"{about['words_per_second']:,} words/s on {made.options.threads} threads, "
        f"{seconds:.1f} s in all, last loss {about['losses'][-1]:.3f}"
    )
    if about["unlabelled"]:
        typer.echo(f"{about['unlabelled']:,} texts without a label were left out.")
    typer.echo(f"Try: feedline words classify test {quote(str(out))} TEST_FILE")
