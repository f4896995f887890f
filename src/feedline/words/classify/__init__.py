"""Text classification: the mean of a text's word vectors, and a softmax.

    from feedline.words import classify
    classifier = classify.train("train.txt")
    classifier.predict(["a fine film"])            # [[("positive", 0.98)]]
    classifier.test("test.txt").accuracy

It is fastText's supervised model, trained by the compiled, lock-free kernels that
also train word vectors. Names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feedline.words.classify.classifier import Classifier
    from feedline.words.classify.options import Options
    from feedline.words.classify.score import Scores
    from feedline.words.classify.training import train

__all__ = ["Classifier", "Options", "Scores", "load", "train"]

_HOMES = {
    "Classifier": "classifier",
    "Options": "options",
    "Scores": "score",
    "train": "training",
}


def load(path: Any) -> Classifier:
    """A classifier from the directory that `save` wrote."""
    from feedline.words.classify.classifier import Classifier

    return Classifier.load(path)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
