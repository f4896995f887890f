"""What is left to chance, drawn on the device: one set of draws for each launch.

The host sends token ids and a seed. Here frequent words are left out, the rest is
moved together, and windows and noise are drawn for all steps of the launch at once.
A group is a stretch of `centres` kept words with `window` more on either side; its
words share their noise, so that a group is one matrix product.

    | window |   centres   | window |     the words of a group
             |   centres   |              each is predicted by those around it

Every device draws the same for the whole launch, whichever part it works on: what
is drawn depends on the seed alone, not on the number of devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from feedline.words.engine.config import Config
from feedline.words.engine.tables import ALWAYS, Tables


@dataclass(frozen=True)
class Shape:
    """How a launch is divided: sizes that the compiled step is made for."""

    tokens: int
    """Token ids in a launch; a shorter block is filled up with ends."""
    groups: int
    """Groups in a step."""
    centres: int
    window: int
    noise: int
    """Words of noise that a group shares; 0 with a tree."""

    @property
    def step(self) -> int:
        """Kept words in a step."""
        return self.groups * self.centres

    @property
    def reach(self) -> int:
        """Words in a group, with those around its centres."""
        return self.centres + 2 * self.window

    @property
    def steps(self) -> int:
        """Steps of a launch that keeps every word."""
        return -(-self.tokens // self.step)


class Draws(NamedTuple):
    """The draws of a launch."""

    words: Any
    """Kept words, `window` empty places before them and after; empty is `nothing`."""
    sentences: Any
    """The sentence of each."""
    reaches: Any
    """How far the window of each centre reaches: [steps * groups, centres]."""
    noise: Any
    """[steps * groups, noise]"""
    kept: Any
    at: Any
    """The token at which each step begins: for its learning rate."""


class Sampler:
    """Draws for a vocabulary. Its tables lie on the device."""

    def __init__(self, tables: Tables, shape: Shape) -> None:
        self.shape = shape
        self.nothing = tables.words
        self.words = tables.words
        likely = tables.keep / np.float64(ALWAYS)
        # The empty place is never kept; 1 is above every draw.
        self.keep = tf.constant(np.append(likely, 0.0), tf.float32)
        self.always = tf.constant(np.append(tables.keep == ALWAYS, False))
        if shape.noise:
            upper = (tables.noise >> np.uint64(32)) / np.float64(2**32)
            self.own = tf.constant(upper, tf.float32)
            lower = tables.noise & np.uint64(0xFFFFFFFF)
            self.other = tf.constant(lower.astype(np.int32))

    def draw(self, tokens: Any, seed: Any) -> Draws:
        """All draws of a launch."""
        shape = self.shape
        ended = tokens < 0
        word = tf.where(ended, self.nothing, tokens)
        chance = tf.random.stateless_uniform([shape.tokens], seed)
        kept = tf.gather(self.always, word) | (chance < tf.gather(self.keep, word))
        places = tf.cumsum(tf.cast(kept, tf.int32))
        count = places[-1]
        length = shape.steps * shape.step + 2 * shape.window
        # What is left out goes to one place behind the rest, which is cut off.
        target = tf.where(kept, places - 1 + shape.window, length)[:, tf.newaxis]

        def moved(values: Any, empty: int) -> Any:
            blank = tf.fill([length + 1], empty)
            return tf.tensor_scatter_nd_update(blank, target, values)[:length]

        groups = shape.steps * shape.groups
        reaches = tf.random.stateless_uniform(
            [groups, shape.centres], seed + 1, 1, shape.window + 1, tf.int32
        )
        first = shape.window + tf.range(shape.steps) * shape.step
        at = tf.gather(moved(tf.range(shape.tokens), shape.tokens), first)
        return Draws(
            moved(tokens, self.nothing),
            moved(tf.cumsum(tf.cast(ended, tf.int32)), -1),
            reaches,
            self._noise(groups, seed),
            count,
            at,
        )

    def _noise(self, groups: int, seed: Any) -> Any:
        """Words from the alias table."""
        if not self.shape.noise:
            return tf.zeros([groups, 0], tf.int32)
        size = [groups, self.shape.noise]
        cell = tf.random.stateless_uniform(size, seed + 2, 0, self.words, tf.int32)
        share = tf.random.stateless_uniform(size, seed + 3)
        stays = share <= tf.gather(self.own, cell)
        return tf.where(stays, cell, tf.gather(self.other, cell))


class Step(NamedTuple):
    """The draws of some groups of one step."""

    words: Any
    """[groups, reach]"""
    near: Any
    """1 where a word stands in the window of a centre: [groups, centres, reach]"""
    noise: Any


def cut(shape: Shape, draws: Draws, number: Any, part: int, parts: int) -> Step:
    """The draws that one of several devices needs for a step."""
    groups = shape.groups // parts
    first = number * shape.groups + part * groups
    start = first * shape.centres
    length = groups * shape.centres + 2 * shape.window
    places = np.arange(groups)[:, None] * shape.centres + np.arange(shape.reach)
    words = tf.gather(tf.slice(draws.words, [start], [length]), places)
    sentences = tf.gather(tf.slice(draws.sentences, [start], [length]), places)
    centres = slice(shape.window, shape.window + shape.centres)
    reaches = tf.slice(draws.reaches, [first, 0], [groups, shape.centres])
    away = np.arange(shape.reach) - shape.window - np.arange(shape.centres)[:, None]
    far = np.where(away == 0, np.int32(2**30), np.abs(away)).astype(np.int32)
    near = (
        (far <= reaches[:, :, tf.newaxis])
        & (sentences[:, centres, tf.newaxis] == sentences[:, tf.newaxis, :])
        & (sentences[:, tf.newaxis, :] >= 0)
    )
    noise = tf.slice(draws.noise, [first, 0], [groups, shape.noise])
    return Step(words, tf.cast(near, tf.float32), noise)


def shape_for(config: Config, tokens: int, groups: int, centres: int) -> Shape:
    """The shape of a training: as many words of noise as centres. In groups of 32
    that makes vectors as good as noise drawn for every pair; 16 words are too few."""
    noise = 0 if config.loss == "hs" else max(config.negative, centres)
    return Shape(tokens, groups, centres, config.window, noise)
