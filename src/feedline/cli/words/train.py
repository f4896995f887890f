"""`feedline words train`: vectors from raw text."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedline.cli.words.options import Out, Quiet, plain, takes
from feedline.words.training.options import Options

if TYPE_CHECKING:
    from feedline.words.vectors.vectors import Vectors


@takes(Options)
def train(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS",
            help="Text: files, globs or directories, also .gz .xz .zst; - is stdin.",
            show_default=False,
        ),
    ],
    out: Out,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Train word vectors from text.

    One line of text is one sentence. The vectors are saved in DIR, for the other
    `feedline words` commands or `words.load(DIR)`, with a log of the training,
    metrics.jsonl.

    A run can be stopped at any time, by Ctrl-C or kill: the same command with
    --resume continues from the last checkpoint. With one thread the vectors are
    then the same as without the stop.

    \b
    Examples:
      feedline words train corpus.txt -o vectors
      feedline words train 'text/*.gz' -o vectors --lower --dim 300
      feedline words train corpus.txt -o vectors --model cbow --epochs 10
      feedline words train corpus.txt -o vectors --min-n 3 --max-n 6   (fastText)
      feedline words train corpus.txt -o vectors --model glove --window 10
      feedline words train more.txt -o vectors2 --start vectors
      feedline words train corpus.txt -o vectors --resume
      feedline words train corpus.txt -o vectors --engine auto
      feedline words train corpus.txt -o vectors --engine tensorflow --devices all
    """
    from feedline.cli.words import again
    from feedline.cli.words.bar import Bar
    from feedline.errors import WorkerLost
    from feedline.words.training.train import train as run

    bar = Bar(quiet=quiet)
    try:
        with bar:
            vectors = run(corpus, out=out, progress=bar, **plain(options))
    except KeyboardInterrupt:
        typer.echo(_interrupted(out, trained=bar.trained), err=True)
        raise typer.Exit(130) from None
    except WorkerLost as error:
        again.start(error)
    if not quiet:
        _summary(vectors, out, bar)


def _interrupted(out: Path, *, trained: bool) -> str:
    if not trained:
        return "feedline: interrupted before training began."
    return (
        f"feedline: interrupted; a checkpoint is in {out}. To continue, give the same "
        "command with --resume."
    )


def _summary(vectors: Vectors, out: Path, bar: Any) -> None:
    config = vectors.config
    if not config.get("chief", True):
        typer.echo(f"trained {len(vectors):,} words; worker 0, the chief, has them")
        return
    speed = config.get("words_per_second", 0)
    loss = config.get("losses") or [None]
    if not bar.trained:
        typer.echo(f"{out}: already finished, {len(vectors):,} words.")
    else:
        typer.echo(
            f"{out}: {len(vectors):,} words, dimension {vectors.dim}, "
            f"{config['epochs']} epochs"
        )
        typer.echo(
            f"{speed:,} words/s on {config['threads']} threads, "
            f"{bar.seconds:.1f} s in all, last loss {loss[-1]:.3f}"
        )
        _compared(config)
    word = next((w for w in vectors.words[50:] if w.isalpha()), vectors.words[0])
    typer.echo(f"Try: feedline words similar {quote(str(out))} {quote(word)}")


def _compared(config: Any) -> None:
    """What --engine auto found."""
    speeds = config.get("engine_speeds")
    if speeds:
        best, other = config["engine"], min(speeds, key=lambda name: speeds[name])
        typer.echo(
            f"engine {best}: measured {speeds[best] / speeds[other]:.1f} x as fast as "
            f"{other} on this text"
        )
    elif config.get("asked") == "auto":
        typer.echo(f"engine {config['engine']}: TensorFlow is not installed")
