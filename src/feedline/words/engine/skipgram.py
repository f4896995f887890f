"""Skip-gram: every word of a window predicts the word in its middle.

As in word2vec the context words are the inputs and the centre is the target. The
context words are taken four at a time, and each four share their negatives: that
makes a tile of four inputs and six outputs (see tile.py). No quality is lost by it:
on 17 million words the scores with negatives of its own for every context word are
the same within the noise of the seeds; with eight that share them SimLex falls.

Draws come first, for some centres at a time, and the arithmetic after them: so
the rows that a tile will need are known, and asked for, two groups ahead.
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
from feedline.words.engine.tables import SHARED
from feedline.words.engine.tile import (
    borrow,
    fetch_rows,
    give_back,
    pair,
    step_together,
)

FOUR, TWO = SHARED["ns"], SHARED["hs"]
AHEAD = 2  # groups between asking for rows and using them
PLANNED = 160  # groups of inputs drawn before their arithmetic


@njit(nogil=True, inline="always")
def gather(
    kept: Any,
    place: Any,
    centre: Any,
    rest: Any,
    ins: Any,
    at: Any,
    most: Any,
    stride: Any,
    nothing: Any,
) -> Any:
    """The rows of the next words of a window, `most` at most, and `nothing` where there
    are no more; how many there are, and the place after them."""
    there = min(rest, most)
    for i in range(most):
        ins[at + i] = nothing
        if i < there:
            place += place == centre
            ins[at + i] = kept[place] * stride
            place += 1
    return there, place


@njit(nogil=True, cache=True)
def with_noise(tokens: Any, weights: Any, draws: Any, work: Any) -> Any:
    """One block, negative sampling. Gives the examples and the words kept."""
    x, y, stride, depth = weights
    keep, noise, window, negative, state = draws
    signs, rate, slope, floor, tally = work
    no_input = x.size - stride
    no_output = y.size - stride
    tiles = (1 + negative + TILE - 1) // TILE
    outputs = tiles * TILE
    nothing = tiles * 2 * WIDTH
    kept = np.empty(SENTENCE, np.int64)
    ins = np.empty((PLANNED + window) * FOUR, np.int64)
    theres = np.empty(PLANNED + window, np.int64)
    rows = np.empty((PLANNED + window) * outputs, np.int64)
    pool, state = new_pool(state, noise)
    at = examples = words = 0
    while at < tokens.size:
        now = np.float32(max(floor, rate - slope * at))
        at, n, state = sentence(tokens, at, keep, kept, state)
        words += n
        centre = 0
        while centre < n:
            groups = 0
            while centre < n and groups < PLANNED:
                target = kept[centre]
                state = step(state)
                far = reach(state, window)
                place, right = max(0, centre - far), min(n, centre + far + 1)
                rest = right - place - 1
                examples += rest
                while rest > 0:
                    theres[groups], place = gather(
                        kept,
                        place,
                        centre,
                        rest,
                        ins,
                        groups * FOUR,
                        FOUR,
                        stride,
                        no_input,
                    )
                    rest -= FOUR
                    state = noise_tiles(
                        state,
                        noise,
                        pool,
                        target,
                        rows,
                        groups * outputs,
                        negative,
                        stride,
                        no_output,
                    )
                    groups += 1
                centre += 1
            for i in range(groups):
                soon = i + AHEAD
                if soon < groups:
                    fetch_rows(y, rows, soon * outputs, (soon + 1) * outputs, depth)
                    first = soon * FOUR
                    fetch_rows(x, ins, first, first + theres[soon], depth)
                for t in range(tiles):
                    step_together(
                        x,
                        ins,
                        i * FOUR,
                        theres[i],
                        y,
                        rows,
                        i * outputs + t * TILE,
                        depth,
                        signs,
                        t * 2 * WIDTH,
                        nothing,
                        now,
                        tally,
                    )
    return examples, words


@njit(nogil=True, cache=True)
def with_tree(tokens: Any, weights: Any, draws: Any, paths: Any, work: Any) -> Any:
    """One block, hierarchical softmax: the target is the path to the centre.

    `signs` has room for `longest` tiles and, after them, one of nothing. Every path
    begins at the root, so threads that write to those rows at once wait for each
    other's caches: the first tile is worked on in a copy, once for each centre.
    """
    x, y, stride, depth = weights
    keep, _, window, _, state = draws
    offsets, nodes, codes, longest = paths
    signs, rate, slope, floor, tally = work
    no_input = x.size - stride
    no_output = y.size - stride
    nothing = longest * 2 * WIDTH
    kept = np.empty(SENTENCE, np.int64)
    rows = np.empty(longest * TILE, np.int64)
    ins = np.empty(TWO, np.int64)
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
            whole = tiles - 1 if 0 < end <= TILE // 2 else tiles
            borrow(y, rows, near, before, stride, depth)
            place = left
            while rest > 0:
                there, place = gather(
                    kept, place, centre, rest, ins, 0, TWO, stride, no_input
                )
                rest -= TWO
                pair(
                    x,
                    ins,
                    0,
                    there,
                    near,
                    nearest,
                    0,
                    whole == 0,
                    depth,
                    signs,
                    0,
                    nothing,
                    now,
                    tally,
                )
                for t in range(1, tiles):
                    pair(
                        x,
                        ins,
                        0,
                        there,
                        y,
                        rows,
                        t * TILE,
                        t == whole,
                        depth,
                        signs,
                        t * 2 * WIDTH,
                        nothing,
                        now,
                        tally,
                    )
            give_back(y, rows, near, before, stride, depth)
    return examples, words
