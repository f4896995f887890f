"""`feedline words train`: vectors from raw text."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from feedline.words.vectors.vectors import Vectors


class Model(str, Enum):
    """What is learnt."""

    skipgram = "skipgram"
    cbow = "cbow"
    glove = "glove"


class Loss(str, Enum):
    """Negative sampling or hierarchical softmax."""

    ns = "ns"
    hs = "hs"


class EngineName(str, Enum):
    """What computes."""

    cpu = "cpu"
    tensorflow = "tensorflow"
    auto = "auto"
    reference = "reference"


class Precision(str, Enum):
    """What rows are multiplied in."""

    float32 = "float32"
    mixed_bfloat16 = "mixed_bfloat16"
    mixed_float16 = "mixed_float16"


def train(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS",
            help="Text: files, globs or directories, also .gz .xz .zst; - is stdin.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="DIR", help="Train into DIR.", show_default=False
        ),
    ],
    model: Annotated[Model, typer.Option(help="What is learnt.")] = Model.skipgram,
    loss: Annotated[
        Loss, typer.Option(help="Negative sampling or hierarchical softmax.")
    ] = Loss.ns,
    dim: Annotated[int, typer.Option(metavar="N", help="Numbers in a vector.")] = 100,
    window: Annotated[
        int, typer.Option(metavar="N", help="Words on each side, at most.")
    ] = 5,
    negative: Annotated[
        int, typer.Option(metavar="N", help="Words of noise for each seen.")
    ] = 5,
    sample: Annotated[
        float, typer.Option(metavar="T", help="Thin out words above this share.")
    ] = 1e-3,
    epochs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Passes over the text.  [default: 5; glove: 15]",
            show_default=False,
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            help="Learning rate at the start.  [default: 0.025; cbow: 0.05]",
            show_default=False,
        ),
    ] = None,
    min_alpha: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            help="Learning rate at the end.  [default: alpha / (2 epochs)]",
            show_default=False,
        ),
    ] = None,
    min_n: Annotated[
        int, typer.Option(metavar="N", help="Shortest subword; 0 for none.")
    ] = 0,
    max_n: Annotated[
        int, typer.Option(metavar="N", help="Longest subword; 0 for none.")
    ] = 0,
    bucket: Annotated[
        int, typer.Option(metavar="N", help="Rows that subwords share.")
    ] = 2_000_000,
    x_max: Annotated[
        float, typer.Option(metavar="X", help="GloVe: count of full weight.")
    ] = 100.0,
    power: Annotated[
        float, typer.Option(metavar="P", help="GloVe: how weight grows with count.")
    ] = 0.75,
    eta: Annotated[
        float, typer.Option(metavar="R", help="GloVe: learning rate.")
    ] = 0.05,
    min_count: Annotated[
        int, typer.Option(metavar="N", help="Leave out words seen less often.")
    ] = 5,
    max_vocab: Annotated[
        int | None,
        typer.Option(metavar="N", help="Keep the N most frequent.", show_default=False),
    ] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Take the words from FILE.", show_default=False
        ),
    ] = None,
    phrases: Annotated[
        int, typer.Option(metavar="N", help="Passes that join words, new_york.")
    ] = 0,
    lower: Annotated[bool, typer.Option("--lower", help="Lower the case.")] = False,
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Words are its matches; otherwise what spaces divide.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all draws.")] = 1,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="[default: all cores allowed]", show_default=False
        ),
    ] = None,
    engine: Annotated[
        EngineName,
        typer.Option(help="auto takes the faster of the first two, measured."),
    ] = EngineName.cpu,
    devices: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="tensorflow: all, or such as GPU:0,GPU:1.  [default: the first]",
            show_default=False,
        ),
    ] = None,
    precision: Annotated[
        Precision, typer.Option(help="tensorflow: of products; rows stay float32.")
    ] = Precision.float32,
    device_memory: Annotated[
        float | None,
        typer.Option(
            metavar="GB",
            help="tensorflow: rows on a device; more are divided among devices.",
            show_default=False,
        ),
    ] = None,
    cluster: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="tensorflow: train on the machines in FILE (or TF_CONFIG).",
            show_default=False,
        ),
    ] = None,
    worker: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Which machine of them this is.", show_default=False
        ),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Continue from these vectors, with new words added.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where DIR was left.")
    ] = False,
    checkpoint: Annotated[
        float, typer.Option(metavar="S", help="Seconds between checkpoints.")
    ] = 60.0,
    save_epochs: Annotated[
        bool, typer.Option("--save-epochs", help="Also save after each epoch.")
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the encoded text here, for other runs.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite what is in DIR.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no summary.")
    ] = False,
) -> None:
    """Train word vectors from text.

    One line of text is one sentence. DIR then holds the vectors, for the other
    `feedline words` commands or `words.load(DIR)`, and the log of the training,
    metrics.jsonl.

    A run can be stopped at any time, by Ctrl-C or worse: the same command with
    --resume goes on from the last checkpoint. With one thread it ends with the
    very vectors it would have ended with.

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
    options: dict[str, Any] = {
        "model": model.value,
        "loss": loss.value,
        "dim": dim,
        "window": window,
        "negative": negative,
        "sample": sample,
        "alpha": alpha,
        "min_alpha": min_alpha,
        "epochs": epochs,
        "seed": seed,
        "threads": threads,
        "min_n": min_n,
        "max_n": max_n,
        "bucket": bucket,
        "x_max": x_max,
        "power": power,
        "eta": eta,
        "lower": lower,
        "pattern": pattern,
        "min_count": min_count,
        "max_vocab": max_vocab,
        "phrases": phrases,
        "vocabulary": vocabulary,
        "start": start,
        "engine": engine.value,
        "devices": devices,
        "precision": precision.value,
        "device_memory": device_memory,
        "cluster": cluster,
        "worker": worker,
        "cache": cache,
        "resume": resume,
        "force": force,
        "checkpoint_every": checkpoint,
        "save_epochs": save_epochs,
    }
    from feedline.cli.words import again
    from feedline.cli.words.bar import Bar
    from feedline.errors import WorkerLost
    from feedline.words.training.train import train as run

    bar = Bar(quiet=quiet)
    try:
        with bar:
            vectors = run(corpus, out=out, progress=bar, **options)
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
        f"feedline: interrupted; a checkpoint is in {out}. To go on, give the same "
        "command with --resume."
    )


def _summary(vectors: Vectors, out: Path, bar: Any) -> None:
    config = vectors.config
    if not config.get("chief", True):
        typer.echo(f"trained {len(vectors):,} words; they are with worker 0, the chief")
        return
    speed = config.get("words_per_second", 0)
    loss = config.get("losses") or [None]
    if not bar.trained:
        typer.echo(f"{out}: was finished already, {len(vectors):,} words.")
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
