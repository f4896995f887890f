"""Random draws for compiled kernels: the generator that tables.py defines.

Each function takes the generator's state and gives it back, moved on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from feedline.words.engine import tables
from feedline.words.engine.simd import TILE

_MULTIPLIER = np.uint64(tables.MULTIPLIER)
_INCREMENT = np.uint64(tables.INCREMENT)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ALWAYS = np.uint32(tables.ALWAYS)
SENTENCE = tables.SENTENCE
renewed = njit(nogil=True, inline="always")(tables.renewed)
POOL = tables.POOL
DRAWN = tables.DRAWN
_BITS = np.uint64(24)
_BYTE = np.uint64(8)
_PLACE = np.uint64(POOL - 1)


@njit(nogil=True, inline="always")
def step(state: Any) -> Any:
    return state * _MULTIPLIER + _INCREMENT


@njit(nogil=True, cache=True)
def sentence(tokens: Any, at: Any, keep: Any, kept: Any, state: Any) -> Any:
    """Read up to a sentence's end into `kept`, leaving frequent words out by lot.

    Gives the place after it, the number of words kept, and the state.
    """
    n = 0
    while at < tokens.size and n < kept.size:
        word = tokens[at]
        at += 1
        if word < 0:
            break
        threshold = keep[word]
        if threshold != _ALWAYS:
            state = step(state)
            if np.uint32(state >> _HALF) > threshold:
                continue
        kept[n] = word
        n += 1
    return at, n, state


@njit(nogil=True, inline="always")
def reach(state: Any, window: Any) -> Any:
    """How far this window reaches, from 1 to `window`, from a state moved on."""
    return 1 + np.int64(((state >> _HALF) * np.uint64(window)) >> _HALF)


@njit(nogil=True, inline="always")
def noise_word(state: Any, noise: Any) -> Any:
    """A word of the alias table, from a state moved on."""
    product = (state >> _HALF) * np.uint64(noise.size)
    cell = np.int64(product >> _HALF)
    entry = noise[cell]
    other = np.int64(entry & _LOW)
    return other if (product & _LOW) > (entry >> _HALF) else cell


@njit(nogil=True, cache=True)
def new_pool(state: Any, noise: Any) -> Any:
    """A pool full of fresh words, its cursor behind them, and the state."""
    pool = np.zeros(POOL + 1, np.int64)
    if noise.size:
        for i in range(POOL):
            state = step(state)
            pool[i] = noise_word(state, noise)
    return pool, state


@njit(nogil=True, cache=True)
def noise_tiles(
    state: Any,
    noise: Any,
    pool: Any,
    target: Any,
    rows: Any,
    at: Any,
    count: Any,
    stride: Any,
    nothing: Any,
) -> Any:
    """The target's row, those of `count` words of the pool other than it, and
    `nothing` up to a whole tile."""
    rows[at] = target * stride
    for first in range(0, count, DRAWN):
        state = step(state)
        bits = state >> _BITS
        for i in range(first, min(count, first + DRAWN)):
            place = bits & _PLACE
            bits >>= _BYTE
            word = pool[np.int64(place)]
            tries = 1
            while word == target and tries < POOL:
                place = (place + np.uint64(1)) & _PLACE
                word = pool[np.int64(place)]
                tries += 1
            rows[at + 1 + i] = word * stride
    for i in range(1 + count, (1 + count + TILE - 1) // TILE * TILE):
        rows[at + i] = nothing
    cursor = pool[POOL]
    for _ in range(renewed(count)):
        state = step(state)
        pool[cursor] = noise_word(state, noise)
        cursor = (cursor + 1) % POOL
    pool[POOL] = cursor
    return state


@njit(nogil=True, cache=True)
def path_tiles(
    target: Any,
    offsets: Any,
    nodes: Any,
    codes: Any,
    rows: Any,
    signs: Any,
    width: Any,
    stride: Any,
    nothing: Any,
) -> Any:
    """The nodes above a word as whole tiles, with their signs; how many tiles.

    `signs` is laid out as `tile.py` describes: for each tile the lanes of the
    signs, then those of what is added.
    """
    start, length = offsets[target], offsets[target + 1] - offsets[target]
    tiles = (length + TILE - 1) // TILE
    for i in range(tiles * TILE):
        place = (i // TILE) * 2 * width + i % TILE
        if i < length:
            rows[i] = nodes[start + i] * stride
            signs[place] = 1.0 - 2.0 * codes[start + i]
            signs[place + width] = 0.0
        else:
            rows[i] = nothing
            signs[place] = 0.0
            signs[place + width] = 40.0
    return tiles
