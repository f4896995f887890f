"""Word vectors: train them, load them, ask them.

    from feedline import words
    vectors = words.train("corpus.txt", dim=100)
    vectors.similar("king")

Names are loaded when they are first used, so that importing feedline stays quick.

    text/       a corpus to a vocabulary and encoded text
    engine/     arrays in, trained arrays out: cpu, tensorflow, reference
    training/   `train`: runs an engine over a corpus, with checkpoints
    vectors/    `Vectors`: neighbours, analogies, evaluation
    formats/    vectors from and for other programs, one file per format
    classify/   text classifiers
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feedline.words.engine.config import Config
    from feedline.words.text.corpus import Corpus
    from feedline.words.text.vocabulary import Vocabulary
    from feedline.words.training.driver import Progress
    from feedline.words.training.train import train
    from feedline.words.vectors.evaluation import evaluate
    from feedline.words.vectors.vectors import Vectors

__all__ = [
    "Config",
    "Corpus",
    "Progress",
    "Vectors",
    "Vocabulary",
    "classify",
    "evaluate",
    "load",
    "train",
]

_HOMES = {
    "Config": "engine.config",
    "Corpus": "text.corpus",
    # Not in __all__: it needs TensorFlow.
    "Lookup": "vectors.graph",
    "Progress": "training.driver",
    "Vectors": "vectors.vectors",
    "Vocabulary": "text.vocabulary",
    "evaluate": "vectors.evaluation",
    "train": "training.train",
}


def load(path: Any, format: str | None = None) -> Vectors:  # noqa: A002
    """Vectors from a saved directory, or from any file that can be read."""
    from feedline.words.vectors.vectors import Vectors

    return Vectors.load(path, format)


def __getattr__(name: str) -> Any:
    if name == "classify":
        return importlib.import_module(f"{__name__}.classify")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
