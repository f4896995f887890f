"""Vectors as layers of Keras, alone or as a saved model.

Only Keras' own layers are used, so that what is saved loads without feedline.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from feedline.errors import TensorFlowMissing, VectorsError
from feedline.words.formats.format import Format
from feedline.words.formats.shared import target
from feedline.words.vectors.vectors import Vectors


def layer(
    vectors: Vectors, *, trainable: bool = False, strings: bool = False, **options: Any
) -> Any:
    """The layer, built and filled: see `Vectors.layer`."""
    keras = load()
    name = options.pop("name", None)
    matrix = np.asarray(vectors.matrix)
    if strings:
        matrix = np.concatenate([np.zeros((1, vectors.dim), np.float32), matrix])
    made = keras.layers.Embedding(
        *matrix.shape,
        trainable=trainable,
        name="vectors" if strings and name is None else name,
        **options,
    )
    made.build((None,))
    made.set_weights([matrix])
    if not strings:
        return made
    from feedline.words.vectors.graph import text_of

    words = keras.Input((None,), dtype="string", name="words")
    numbers = keras.layers.StringLookup(vocabulary=text_of(vectors), name="numbers")
    return keras.Sequential([words, numbers, made])


def check(path: Path, *, force: bool) -> None:  # noqa: ARG001
    if path.suffix != ".keras":
        raise VectorsError(
            f"Keras saves models as NAME.keras, and {path.name} is another name: give "
            f"{path.with_suffix('.keras').name}"
        )


def write(vectors: Vectors, path: Path) -> None:
    """A model from words, a text in each row, to vectors."""
    model = layer(vectors, strings=True)
    with target.replaced(path) as part:
        model.save(part)


def load() -> Any:
    """Keras, or the error that says where it comes from."""
    try:
        import keras
    except ImportError:
        raise TensorFlowMissing from None
    return keras


FORMAT = Format(
    "keras",
    used_by="keras.saving.load_model: words to vectors",
    endings=(".keras",),
    magic=(b"\x89HDF",),
    refused="it is HDF5 (.h5). Export the vectors from what wrote it as text",
    write=write,
    check=check,
)
