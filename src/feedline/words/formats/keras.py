"""A Keras `Embedding` layer, alone or as a saved model.

Row `i` of the layer is the vector of `words[i]`: a `StringLookup` or a dictionary
made from `vectors.words` gives the numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from feedline.errors import TensorFlowMissing, VectorsError
from feedline.words.formats import target
from feedline.words.vectors import Vectors


def layer(vectors: Vectors, *, trainable: bool = False, **options: Any) -> Any:
    """The layer, built and filled. `options` go to `keras.layers.Embedding`.

    A frozen layer costs an optimizer nothing. One that trains is updated as a
    whole at every step by most optimizers: see `dense-embedding-update`.
    """
    keras = _keras()
    made = keras.layers.Embedding(
        len(vectors), vectors.dim, trainable=trainable, **options
    )
    made.build((None,))
    made.set_weights([np.asarray(vectors.matrix)])
    return made


def check(path: Path, *, force: bool) -> None:
    if path.suffix != ".keras":
        raise VectorsError(
            f"Keras saves models as NAME.keras, and {path.name} is another name: give "
            f"{path.with_suffix('.keras').name}"
        )
    target.check(path.with_suffix(".txt"), force=force)


def write(vectors: Vectors, path: Path) -> None:
    """A model of word numbers to vectors, and the words in a `.txt` beside it."""
    from feedline.words.formats.numpy import write_words

    keras = _keras()
    model = keras.Sequential(
        [keras.Input((None,), dtype="int32"), layer(vectors, name="words")]
    )
    write_words(vectors, path.with_suffix(".txt"))
    with target.replaced(path) as part:
        model.save(part)


def _keras() -> Any:
    try:
        import keras
    except ImportError:
        raise TensorFlowMissing from None
    return keras
