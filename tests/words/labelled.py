"""Labelled texts whose labels can be told, and a plain classifier to compare with."""

from __future__ import annotations

import numpy as np

TOPICS = ("sports", "politics", "film")


def planted(texts=600, seed=0, labels=TOPICS, length=12):
    """Pairs of a text and its label: a third of the words tell, the rest is noise."""
    draw = np.random.default_rng(seed)
    pairs = []
    for i in range(texts):
        label = labels[i * len(labels) // texts]  # sorted, as files often are
        words = [
            f"{label}{draw.integers(40)}"
            if draw.random() < 0.35
            else f"noise{draw.integers(200)}"
            for _ in range(length)
        ]
        pairs.append((" ".join(words), label))
    return pairs


def lines(pairs) -> str:
    """The same as fastText's lines."""
    return "".join(f"__label__{label} {text}\n" for text, label in pairs)


def descend(bags, labels, x, w, order, rate, slope):
    """The kernel's gradient descent in NumPy: its definition, and slow."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    loss = 0.0
    for place, text in enumerate(order):
        now = rate - slope * place
        rows, wanted = bags[text], labels[text]
        mean = x[rows].mean(axis=0)
        z = w @ mean
        p = np.exp(z - z.max())
        p /= p.sum()
        target = np.zeros(len(w))
        target[wanted] = 1 / len(wanted)
        loss -= (target[wanted] * np.log(p[wanted])).sum()
        g = now * (target - p)
        change = w.T @ g / len(rows)
        w += np.outer(g, mean)
        np.add.at(x, rows, change)
    return x, w, loss
