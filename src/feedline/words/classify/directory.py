"""A classifier on disk: a directory of four files (see formats/bundle.py).

classifier.json          options, labels, sizes, checksums, what training noted
classifier.safetensors   "inputs", "outputs" (float32), "buckets" (int32)
vocabulary.txt           one `word count` per line
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from feedline.errors import ClassifierError
from feedline.words.classify.classifier import Classifier
from feedline.words.classify.options import Options
from feedline.words.formats.shared import bundle

_WORDS = "vocabulary.txt"

KIND = bundle.Kind(
    "a classifier",
    "Train it again",
    "classifier.json",
    "classifier.safetensors",
    (_WORDS,),
    ClassifierError,
)


def write(
    classifier: Classifier, path: str | os.PathLike[str], *, force: bool = False
) -> Path:
    """Save to a directory, whole or not at all."""
    bundle.check(KIND, path, force=force)
    tensors = {
        "inputs": classifier.inputs,
        "outputs": classifier.outputs,
        "buckets": classifier.buckets,
    }
    counts = classifier.label_counts.tolist()
    about = {
        "options": classifier.options.as_dict(),
        "labels": [list(pair) for pair in zip(classifier.labels, counts, strict=True)],
        "words": len(classifier.words),
        "about": dict(classifier.about),
    }
    texts = {_WORDS: bundle.words_as_text(classifier.words, classifier.counts)}
    return bundle.write(KIND, path, about, tensors, texts, force=force)


def read(path: str | os.PathLike[str]) -> Classifier:
    """Load what `write` wrote."""
    with bundle.reading(KIND, path) as (about, tensors):
        words, counts = bundle.words_of_text(
            (Path(path) / _WORDS).read_bytes(), _WORDS, about["words"], counted=True
        )
        assert counts is not None
        labels = about["labels"]
        return Classifier(
            words,
            tuple(str(name) for name, _ in labels),
            tensors["inputs"],
            tensors["outputs"],
            tensors["buckets"],
            Options(**about["options"]),
            counts,
            np.array([int(count) for _, count in labels], np.int64),
            about["about"],
        )
