"""Skip-gram: every word of a window predicts the word in its middle.

As in word2vec the context words are the inputs and the centre is the target. The
context words are taken two at a time, and each two share their negatives: that
makes a tile of two inputs and six outputs (see tile.py). No quality is lost by it:
on 17 million words the scores with negatives of its own for every context word are
the same within the noise of the seeds.

Draws come first, for some centres at a time, and the arithmetic after them: so
the rows that a tile will need are known, and asked for, two tiles ahead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from feedline.words.engine.draws import (
    SENTENCE,
    new_pool,
    noise_tiles,
    path_tiles,
    reach,
    sentence,
    step,
)
from feedline.words.engine.simd import TILE, WIDTH
from feedline.words.engine.tile import borrow, fetch_rows, give_back, half, pair

AHEAD = 2  # tiles between asking for rows and using them
PLANNED = 320  # pairs drawn before their arithmetic


@njit(nogil=True, cache=True)
def with_noise(
    tokens: Any,
    x: Any,
    y: Any,
    stride: Any,
    depth: Any,
    keep: Any,
    noise: Any,
    window: Any,
    negative: Any,
    signs: Any,
    state: Any,
    rate: Any,
    slope: Any,
    floor: Any,
    tally: Any,
) -> Any:
    """One block, negative sampling. Gives the examples and the words kept."""
    no_input = x.size - stride
    no_output = y.size - stride
    tiles = (1 + negative + TILE - 1) // TILE
    outputs = tiles * TILE
    kept = np.empty(SENTENCE, np.int64)
    firsts = np.empty(PLANNED + window, np.int64)
    seconds = np.empty(PLANNED + window, np.int64)
    rows = np.empty((PLANNED + window) * outputs, np.int64)
    pool, state = new_pool(state, noise)
    at = examples = words = 0
    while at < tokens.size:
        now = np.float32(max(floor, rate - slope * at))
        at, n, state = sentence(tokens, at, keep, kept, state)
        words += n
        centre = 0
        while centre < n:
            pairs = 0
            while centre < n and pairs < PLANNED:
                target = kept[centre]
                state = step(state)
                far = reach(state, window)
                left, right = max(0, centre - far), min(n, centre + far + 1)
                rest = right - left - 1
                examples += rest
                place = left
                while rest > 0:
                    place += place == centre
                    firsts[pairs] = kept[place] * stride
                    place += 1
                    place += place == centre
                    seconds[pairs] = kept[place] * stride if rest > 1 else no_input
                    place += 1
                    rest -= 2
                    state = noise_tiles(
                        state,
                        noise,
                        pool,
                        target,
                        rows,
                        pairs * outputs,
                        negative,
                        stride,
                        no_output,
                    )
                    pairs += 1
                centre += 1
            for i in range(pairs):
                if i + AHEAD < pairs:
                    soon = i + AHEAD
                    fetch_rows(y, rows, soon * outputs, (soon + 1) * outputs, depth)
                    fetch_rows(x, firsts, soon, soon + 1, depth)
                    fetch_rows(x, seconds, soon, soon + 1, depth)
                for t in range(tiles):
                    first = t * 2 * WIDTH
                    second = first if seconds[i] != no_input else tiles * 2 * WIDTH
                    pair(
                        x,
                        firsts[i],
                        seconds[i],
                        y,
                        rows,
                        i * outputs + t * TILE,
                        depth,
                        signs,
                        first,
                        second,
                        now,
                        tally,
                    )
    return examples, words


@njit(nogil=True, cache=True)
def with_tree(
    tokens: Any,
    x: Any,
    y: Any,
    stride: Any,
    depth: Any,
    keep: Any,
    offsets: Any,
    nodes: Any,
    codes: Any,
    longest: Any,
    window: Any,
    signs: Any,
    state: Any,
    rate: Any,
    slope: Any,
    floor: Any,
    tally: Any,
) -> Any:
    """One block, hierarchical softmax: the target is the path to the centre.

    `signs` has room for `longest` tiles and, after them, one of nothing. Every path
    begins at the root, so threads that write to those rows at once wait for each
    other's caches: the first tile is worked on in a copy, once for each centre.
    """
    no_input = x.size - stride
    no_output = y.size - stride
    nothing = longest * 2 * WIDTH
    kept = np.empty(SENTENCE, np.int64)
    rows = np.empty(longest * TILE, np.int64)
    near = np.zeros(TILE * stride, np.float32)
    before = np.zeros(TILE * stride, np.float32)
    nearest = np.arange(TILE) * stride
    at = examples = words = 0
    while at < tokens.size:
        now = np.float32(max(floor, rate - slope * at))
        at, n, state = sentence(tokens, at, keep, kept, state)
        words += n
        for centre in range(n):
            state = step(state)
            far = reach(state, window)
            left, right = max(0, centre - far), min(n, centre + far + 1)
            rest = right - left - 1
            if rest == 0:
                continue
            examples += rest
            tiles = path_tiles(
                kept[centre],
                offsets,
                nodes,
                codes,
                rows,
                signs,
                WIDTH,
                stride,
                no_output,
            )
            # The last tile may be mostly empty: then half of one will do.
            end = (offsets[kept[centre] + 1] - offsets[kept[centre]]) % TILE
            whole = tiles - 1 if tiles > 1 and 0 < end <= TILE // 2 else tiles
            borrow(y, rows, near, before, stride, depth)
            place = left
            while rest > 0:
                place += place == centre
                first = kept[place] * stride
                place += 1
                place += place == centre
                second = kept[place] * stride if rest > 1 else no_input
                place += 1
                rest -= 2
                pair(
                    x,
                    first,
                    second,
                    near,
                    nearest,
                    0,
                    depth,
                    signs,
                    0,
                    0 if second != no_input else nothing,
                    now,
                    tally,
                )
                for t in range(1, whole):
                    sign = t * 2 * WIDTH
                    other = sign if second != no_input else nothing
                    pair(
                        x,
                        first,
                        second,
                        y,
                        rows,
                        t * TILE,
                        depth,
                        signs,
                        sign,
                        other,
                        now,
                        tally,
                    )
                if whole < tiles:
                    sign = whole * 2 * WIDTH
                    other = sign if second != no_input else nothing
                    half(
                        x,
                        first,
                        second,
                        y,
                        rows,
                        whole * TILE,
                        depth,
                        signs,
                        sign,
                        other,
                        now,
                        tally,
                    )
            give_back(y, rows, near, before, stride, depth)
    return examples, words
