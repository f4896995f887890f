"""From trained matrices to `Vectors`, and from `Vectors` back, to train on.

Both work in place: a third matrix would be half as much memory again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from feedline.errors import TrainingError
from feedline.words.engine.config import Config
from feedline.words.engine.weights import Matrix, blank, compact
from feedline.words.text.vocabulary import Vocabulary
from feedline.words.training.checkpoint import FOLDER, read_tensors, write_tensors
from feedline.words.training.task import GloveTask, Task, Tensor, TextTask
from feedline.words.vectors.subwords import Subwords
from feedline.words.vectors.vectors import Vectors

OUTPUTS = "outputs.safetensors"
_CHUNK = 1 << 13


def finish(
    task: Task, vocabulary: Vocabulary, about: Mapping[str, Any], *, copy: bool = False
) -> Vectors:
    """The vectors. Unless a copy is asked for, the task's inputs are used up."""
    task.runner.pull()
    if isinstance(task, GloveTask):
        return _finish_glove(task, vocabulary, about, copy)
    assert isinstance(task, TextTask)
    inputs, dim = task.weights.inputs, task.config.dim
    words, rows = task.tables.words, task.tables.input_rows
    if copy:
        inputs = inputs.copy()
    if task.config.subwords:
        tables = task.tables
        _average(inputs, tables.gram_offsets, tables.gram_ids, words, dim)
    matrix = compact(inputs, rows, dim)
    subwords = None
    if task.config.subwords:
        subwords = Subwords(matrix[words:], task.config.min_n, task.config.max_n)
    return Vectors(
        vocabulary.words, matrix[:words], vocabulary.counts, dict(about), subwords
    )


def _finish_glove(
    task: GloveTask, vocabulary: Vocabulary, about: Mapping[str, Any], copy: bool
) -> Vectors:
    """GloVe's vectors are the sums of the two that each word has."""
    inputs = task.weights.inputs.copy() if copy else task.weights.inputs
    inputs += task.weights.outputs
    matrix = compact(inputs, task.words, task.config.dim)
    return Vectors(vocabulary.words, matrix, vocabulary.counts, dict(about))


@njit(cache=True)
def _average(inputs: Any, offsets: Any, ids: Any, words: Any, dim: Any) -> None:
    """Let each word's row be the mean of it and its subwords'."""
    for word in range(words):
        size = np.float32(1 + offsets[word + 1] - offsets[word])
        for d in range(dim):
            total = inputs[word, d]
            for i in range(offsets[word], offsets[word + 1]):
                total += inputs[ids[i], d]
            inputs[word, d] = total / size


@njit(cache=True)
def _part(inputs: Any, offsets: Any, ids: Any, word: Any, dim: Any) -> None:
    """The reverse of `_average` for one word."""
    size = np.float32(1 + offsets[word + 1] - offsets[word])
    for d in range(dim):
        total = inputs[word, d] * size
        for i in range(offsets[word], offsets[word + 1]):
            total -= inputs[ids[i], d]
        inputs[word, d] = total


def save_outputs(folder: Path, task: Task) -> None:
    """Keep the output rows, so that training can be continued on more text."""
    if isinstance(task, TextTask) and task.config.loss == "ns":
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        outputs = {"outputs": task.tensors()["outputs"]}
        write_tensors(folder / FOLDER / OUTPUTS, outputs)


# Training on more text --------------------------------------------------------


def merged(old: Vectors, new: Vocabulary) -> Vocabulary:
    """The words of both, counts added up, most frequent first."""
    counts = dict(zip(new.words, new.counts.tolist(), strict=True))
    before = old.counts if old.counts is not None else np.ones(len(old), np.int64)
    for word, count in zip(old.words, before.tolist(), strict=True):
        counts[word] = counts.get(word, 0) + count
    order = sorted(counts, key=lambda word: (-counts[word], word.encode()))
    return Vocabulary(
        tuple(order),
        np.array([counts[word] for word in order], np.int64),
        new.raw_tokens,
    )


def check_start(old: Vectors, config: Config) -> None:
    """An error where training cannot go on from these vectors as asked."""
    if config.model == "glove":
        raise TrainingError(
            "GloVe learns from the counts of the whole text and cannot be continued: "
            "train on both texts together, or take the model skipgram or cbow."
        )
    if old.dim != config.dim:
        raise TrainingError(
            f"dim is {config.dim}, and the vectors to start from have {old.dim}: give "
            f"dim {old.dim}."
        )
    grams = old.subwords
    mine = (config.min_n, config.max_n, config.bucket) if config.subwords else None
    theirs = None if grams is None else (grams.min_n, grams.max_n, grams.buckets)
    if mine != theirs:
        wanted = "min_n 0 and max_n 0"
        if theirs is not None:
            wanted = f"min_n {theirs[0]}, max_n {theirs[1]} and bucket {theirs[2]}"
        raise TrainingError(
            f"the vectors to start from have other subwords than asked for: give "
            f"{wanted}."
        )


def take_over(
    task: TextTask, vocabulary: Vocabulary, old: Vectors, folder: Path | None
) -> None:
    """Start from earlier vectors: known words keep their rows, new ones are fresh.

    The output rows come from `folder`, where training left them; without them, as
    with vectors of another program, they start at zero. A Huffman tree is another
    one when counts change, so its nodes always start anew.
    """
    dim, inputs = task.config.dim, task.weights.inputs
    theirs = old.index
    pairs = [
        (i, theirs[word]) for i, word in enumerate(vocabulary.words) if word in theirs
    ]
    mine = np.array([i for i, _ in pairs], np.int64)
    rows = np.array([j for _, j in pairs], np.int64)
    for low in range(0, len(mine), _CHUNK):
        part = slice(low, low + _CHUNK)
        inputs[mine[part], :dim] = old.matrix[rows[part]]
    if old.subwords is not None:
        words = task.tables.words
        for low in range(0, old.subwords.buckets, _CHUNK):
            some = old.subwords.matrix[low : low + _CHUNK]
            inputs[words + low : words + low + len(some), :dim] = some
        for word in mine:
            _part(inputs, task.tables.gram_offsets, task.tables.gram_ids, word, dim)
    path = None if folder is None else folder / FOLDER / OUTPUTS
    if path is not None and path.exists() and task.config.loss == "ns":
        before: Matrix = blank(len(old), dim)
        read_tensors(path, {"outputs": Tensor(before, len(old), dim)})
        task.weights.outputs[mine, :dim] = before[rows, :dim]
