"""The reference engine: slow, short numpy that says what the result is.

Every other engine is held to this one: the same draws in the same order, the same
steps, equal up to rounding. It works in float64 and rounds only when it stores.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from feedline.words.engine import tables as draw
from feedline.words.engine.config import Config
from feedline.words.engine.kinds import Rates, Tally
from feedline.words.engine.tables import Tables
from feedline.words.engine.weights import GloveWeights, Weights

name = "reference"
width = 8

TOGETHER = 6  # outputs of one step; more of them follow in steps of their own
Row = NDArray[np.float64]
Target = list[tuple[int, float]]
"""Output rows, each with +1 for what was seen and -1 for noise."""


def warm_up(config: Config) -> None:
    """Nothing has to be compiled."""


class Lot:
    """The generator of tables.py."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def draw(self) -> int:
        """32 random bits."""
        self.state = (self.state * draw.MULTIPLIER + draw.INCREMENT) & draw.MASK
        return self.state >> 32

    def below(self, n: int) -> int:
        return (self.draw() * n) >> 32

    def bytes(self, n: int) -> list[int]:
        """Up to five random bytes."""
        self.draw()
        return [self.state >> 24 + 8 * i & 0xFF for i in range(n)]


class Pool:
    """The words of noise at hand: see tables.POOL."""

    def __init__(self, tables: Tables, lot: Lot) -> None:
        self.noise, self.lot, self.cursor = tables.noise, lot, 0
        size = draw.POOL if len(tables.noise) else 0
        self.words = [self.fresh() for _ in range(size)]

    def fresh(self) -> int:
        """A word drawn from the alias table."""
        product = self.lot.draw() * len(self.noise)
        cell, share = product >> 32, product & 0xFFFFFFFF
        entry = int(self.noise[cell])
        return (entry & 0xFFFFFFFF) if share > (entry >> 32) else cell

    def draw(self, count: int, avoid: int) -> list[int]:
        """So many words of the pool other than `avoid`, if it has any; then some of
        its places are renewed."""
        drawn = []
        for first in range(0, count, draw.DRAWN):
            for place in self.lot.bytes(min(draw.DRAWN, count - first)):
                around = self.words[place:] + self.words[:place]
                others = (word for word in around if word != avoid)
                drawn.append(next(others, avoid))
        for _ in range(draw.renewed(count)):
            self.words[self.cursor] = self.fresh()
            self.cursor = (self.cursor + 1) % draw.POOL
        return drawn


def block(
    tables: Tables,
    weights: Weights,
    tokens: NDArray[np.int32],
    seed: int,
    rates: Rates,
) -> Tally:
    """Train on one block of tokens."""
    lot = Lot(seed)
    pool = Pool(tables, lot)
    config = tables.config
    done = Tally()
    for start, words in sentences(tables, tokens, lot):
        rate = rates.at(start)
        done += Tally(kept=len(words))
        if config.model == "cbow":
            done += cbow(tables, weights, words, pool, rate)
        elif config.subwords:
            done += subwords(tables, weights, words, pool, rate)
        else:
            done += skipgram(tables, weights, words, pool, rate)
    return done


def sentences(
    tables: Tables, tokens: NDArray[np.int32], lot: Lot
) -> Iterator[tuple[int, list[int]]]:
    """Where each sentence begins, and its words; frequent ones left out by lot."""
    words: list[int] = []
    start = 0
    for at, word in enumerate(tokens.tolist()):
        if word >= 0:
            threshold = int(tables.keep[word])
            if threshold == draw.ALWAYS or lot.draw() <= threshold:
                words.append(word)
        if word < 0 or len(words) == draw.SENTENCE:
            yield start, words
            words, start = [], at + 1
    if start < len(tokens):
        yield start, words


def window_of(tables: Tables, words: list[int], centre: int, lot: Lot) -> list[int]:
    """The words around the centre, as far as a drawn reach."""
    reach = 1 + lot.below(tables.config.window)
    return words[max(0, centre - reach) : centre] + words[centre + 1 :][:reach]


def target_of(tables: Tables, word: int, pool: Pool) -> Target:
    """What is to be predicted: the word and fresh noise, or its path in the tree."""
    if tables.config.loss == "hs":
        path = slice(tables.path_offsets[word], tables.path_offsets[word + 1])
        signs = 1.0 - 2.0 * tables.path_codes[path]
        return list(zip(tables.path_nodes[path].tolist(), signs.tolist(), strict=True))
    negatives = pool.draw(tables.config.negative, word)
    return [(word, 1.0), *((other, -1.0) for other in negatives)]


def skipgram(
    tables: Tables, weights: Weights, words: list[int], pool: Pool, rate: float
) -> Tally:
    """Some words of a window at a time predict its centre, from one draw of noise."""
    together = draw.SHARED[tables.config.loss]
    done = Tally()
    for centre, word in enumerate(words):
        around = window_of(tables, words, centre, pool.lot)
        for i in range(0, len(around), together):
            few = around[i : i + together]
            target = target_of(tables, word, pool)
            for part in range(0, len(target), TOGETHER):
                inputs = weights.inputs[few].astype(np.float64)
                some = target[part : part + TOGETHER]
                change, loss = predict(weights, inputs, some, rate)
                for row, own in zip(few, change, strict=True):
                    weights.inputs[row] += own
                done += Tally(loss)
        done += Tally(examples=len(around))
    return done


def subwords(
    tables: Tables, weights: Weights, words: list[int], pool: Pool, rate: float
) -> Tally:
    """The bag of the centre predicts every word of its window, one by one."""
    done = Tally()
    for centre, word in enumerate(words):
        bag = bag_of(tables, word)
        around = window_of(tables, words, centre, pool.lot)
        if not around:
            continue
        mean = weights.inputs[bag].astype(np.float64).mean(axis=0)
        total = np.zeros_like(mean)
        for other in around:
            change, loss = whole(weights, mean, target_of(tables, other, pool), rate)
            mean, total = mean + change, total + change
            done += Tally(loss, 1)
        for row in bag:
            weights.inputs[row] += total
    return done


def cbow(
    tables: Tables, weights: Weights, words: list[int], pool: Pool, rate: float
) -> Tally:
    """The mean of a window predicts its centre."""
    done = Tally()
    for centre, word in enumerate(words):
        around = window_of(tables, words, centre, pool.lot)
        if not around:
            continue
        bag = [row for other in around for row in bag_of(tables, other)]
        mean = weights.inputs[bag].astype(np.float64).mean(axis=0)
        change, loss = whole(weights, mean, target_of(tables, word, pool), rate)
        for row in bag:
            weights.inputs[row] += change
        done += Tally(loss, 1)
    return done


def bag_of(tables: Tables, word: int) -> list[int]:
    """The rows of a word: its own and its subwords'."""
    if not tables.config.subwords:
        return [word]
    own = slice(tables.gram_offsets[word], tables.gram_offsets[word + 1])
    return [word, *tables.gram_ids[own].tolist()]


def whole(
    weights: Weights, mean: Row, target: Target, rate: float
) -> tuple[Row, float]:
    """One input against a whole target: its step, and the loss."""
    change, loss = np.zeros_like(mean), 0.0
    for part in range(0, len(target), TOGETHER):
        some = target[part : part + TOGETHER]
        own, more = predict(weights, mean[None], some, rate)
        change, loss = change + own[0], loss + more
    return change, loss


def predict(
    weights: Weights, inputs: Row, target: Target, rate: float
) -> tuple[Row, float]:
    """Move the output rows; give the steps of the input rows, and the loss."""
    rows = [row for row, _ in target]
    signs = np.array([sign for _, sign in target])
    dots = inputs @ weights.outputs[rows].astype(np.float64).T
    likely = 1.0 / (1.0 + np.exp(-np.clip(dots * signs, -40, 40)))
    errors = rate * signs * (1.0 - likely)
    change = np.zeros_like(inputs)
    # One after the other: a word that was drawn twice takes two steps.
    for i, row in enumerate(rows):
        change += np.outer(errors[:, i], weights.outputs[row])
        weights.outputs[row] += errors[:, i] @ inputs
    return change, float(-np.log(likely).sum())


def glove(
    config: Config,
    weights: GloveWeights,
    pairs: NDArray[np.int32],
    logs: NDArray[np.float32],
) -> Tally:
    """GloVe: weighted least squares on log counts, by AdaGrad, both directions."""
    dim, bias = config.dim, weights.bias
    done = Tally()
    for (first, second), log in zip(pairs.tolist(), logs.tolist(), strict=True):
        weight = min(1.0, float(np.exp(config.power * (log - np.log(config.x_max)))))
        both = [(first, second), (second, first)]
        for i, j in both if first != second else both[:1]:
            w, c = weights.inputs[i], weights.outputs[j]
            gw, gc = weights.input_squares[i], weights.output_squares[j]
            u, v = w[:dim].astype(np.float64), c[:dim].astype(np.float64)
            difference = float(u @ v) + float(w[bias]) + float(c[bias]) - log
            step = weight * difference * config.eta
            for row, squares, other in ((w, gw, v), (c, gc, u)):
                own = step * other
                row[:dim] -= own / np.sqrt(squares[:dim])
                squares[:dim] += own**2
                row[bias] -= step / np.sqrt(squares[bias])
                squares[bias] += step**2
            done += Tally(0.5 * weight * difference**2, 1)
    return done
