"""Embedding tables whose update costs what a batch touches, not the vocabulary.

    from feedline.rows import install

    installed = install(model)          # a compiled Keras model, built or not
    model.fit(...)
    installed.remove()                  # everything as Keras has it

Needs nothing else of feedline: a training script may use it by itself. What is
changed and what is not stands in `install`, the difference that lazy moments
make in docs/row-sparse.md. TensorFlow is loaded by the first call.
"""

from __future__ import annotations

from feedline.rows.eligible import CannotInstall
from feedline.rows.install import Installed, install

__all__ = ["CannotInstall", "Installed", "install"]
