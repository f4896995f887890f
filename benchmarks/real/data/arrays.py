"""Arrays as `keras.datasets` returns them, pickled: ((x, y), (x_test, y_test))."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

SEED = 7


def _images(count, shape, classes, random):
    """Pictures that show their class: a bright square whose place depends on it."""
    labels = random.integers(0, classes, count)
    pixels = random.integers(0, 90, (count, *shape), dtype=np.uint8)
    side = shape[0] // 5
    for label in range(classes):
        top, left = divmod(label, 4)
        square = (labels == label, slice(top * side, (top + 1) * side))
        pixels[(*square, slice(left * side, (left + 1) * side))] += 120
    return pixels, labels


def _pickle(folder: Path, train, test) -> None:
    with open(folder / "arrays.pkl", "wb") as file:
        pickle.dump((train, test), file)


def mnist(folder: Path) -> None:
    random = np.random.default_rng(SEED)
    train = _images(60_000, (28, 28), 10, random)
    test = _images(10_000, (28, 28), 10, random)
    _pickle(
        folder,
        (train[0], train[1].astype(np.uint8)),
        (test[0], test[1].astype(np.uint8)),
    )


def cifar10(folder: Path) -> None:
    random = np.random.default_rng(SEED)
    parts = []
    for count in (50_000, 10_000):
        pixels, labels = _images(count, (32, 32, 3), 10, random)
        parts.append((pixels, labels.astype(np.uint8)[:, None]))
    _pickle(folder, *parts)


def imdb(folder: Path) -> None:
    """Reviews as lists of word numbers, frequent words low, 20,000 of them."""
    random = np.random.default_rng(SEED)
    parts = []
    for count in (25_000, 25_000):
        labels = random.integers(0, 2, count)
        reviews = np.empty(count, dtype=object)
        lengths = np.maximum(30, random.lognormal(5.2, 0.6, count)).astype(int)
        for i, length in enumerate(lengths):
            words = np.minimum(random.zipf(1.3, length) + 3, 19_999)
            words[::7] = 100 + labels[i] * 50 + random.integers(0, 50, len(words[::7]))
            reviews[i] = [1, *words.tolist()]
        parts.append((reviews, labels))
    _pickle(folder, *parts)


def omniglot(folder: Path) -> None:
    """Drawn letters, 105 x 105 in three equal channels, 20 of each of 60 and 30."""
    random = np.random.default_rng(SEED)
    parts = []
    for classes in (60, 30):
        letters = random.random((classes, 15, 15)) < 0.3
        which = np.repeat(np.arange(classes), 20)
        shown = letters[which] ^ (random.random((len(which), 15, 15)) < 0.05)
        grey = 255 - 255 * np.kron(shown, np.ones((1, 7, 7))).astype(np.uint8)
        parts.append((np.repeat(grey[..., None], 3, -1), which))
    _pickle(folder, *parts)


MAKERS = {"omniglot": omniglot, "mnist": mnist, "cifar10": cifar10, "imdb": imdb}
