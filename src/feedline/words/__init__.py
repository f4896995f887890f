"""Word vectors: train them, load them, ask them.

    from feedline import words
    vectors = words.train("corpus.txt", dim=100)
    vectors.similar("king")

Names are loaded when they are first used, so that importing feedline stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feedline.words.config import Config
    from feedline.words.corpus import Corpus
    from feedline.words.driver import Progress
    from feedline.words.evaluation import evaluate
    from feedline.words.training import train
    from feedline.words.vectors import Vectors
    from feedline.words.vocabulary import Vocabulary

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
    "Config": "config",
    "Corpus": "corpus",
    "Progress": "driver",
    "Vectors": "vectors",
    "Vocabulary": "vocabulary",
    "evaluate": "evaluation",
    "train": "training",
}


def load(path: Any, format: str | None = None) -> Vectors:  # noqa: A002
    """Vectors from a saved directory, or from any file that can be read."""
    from feedline.words.vectors import Vectors

    return Vectors.load(path, format)


def __getattr__(name: str) -> Any:
    if name == "classify":
        return importlib.import_module(f"{__name__}.classify")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
