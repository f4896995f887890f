"""`feedline words classify export`: a classifier for TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from feedline.cli.words.classify.layout import Folder


def export(
    classifier: Folder,
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="A new directory.", show_default=False),
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a SavedModel in OUT.")
    ] = False,
) -> None:
    """Write a classifier as a SavedModel of TensorFlow.

    It takes texts and gives the probability of each label, and needs TensorFlow
    alone: in Python, in C++ or in TensorFlow Serving.

    \b
    Example:
      feedline words classify export topics model
      python -c "import tensorflow as tf; m = tf.saved_model.load('model'); \\
          print(m.labels(), m.probabilities(tf.constant(['an early exit'])))"
    """
    from feedline.words.classify import load

    loaded = load(classifier)
    loaded.export(out, force=force)
    typer.echo(f"{out}: {len(loaded.labels):,} labels, {len(loaded.words):,} words")
