"""Models whose input is the mean of several rows.

CBOW predicts the middle word from the mean of its window. With subwords a word
is itself a bag, of its own row and those of its n-grams; skip-gram then predicts
each word of the window from the bag in the middle, as fastText does.

The step of the mean is added in full to every row of the bag, which is what
word2vec and fastText do. It follows that the mean of a bag moves by just that
step: skip-gram gathers a word's subwords once per window, moves their mean from
context word to context word, and scatters the sum of the steps at the end. fastText
gathers and scatters them for every context word.
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
from feedline.words.engine.simd import TILE, WIDTH, load, splat, store
from feedline.words.engine.tile import fetch_rows, single

PLANNED = 64  # targets drawn before their arithmetic


@njit(nogil=True, cache=True)
def bag_of(word: Any, offsets: Any, ids: Any, rows: Any, at: Any, stride: Any) -> Any:
    """Write the rows of a word and of its subwords; the place after them."""
    rows[at] = word * stride
    at += 1
    if offsets.size > 1:
        for i in range(offsets[word], offsets[word + 1]):
            rows[at] = ids[i] * stride
            at += 1
    return at


@njit(nogil=True, cache=True)
def gather(x: Any, rows: Any, count: Any, mean: Any, depth: Any) -> None:
    """The mean of the rows."""
    share = splat(np.float32(1.0) / np.float32(count))
    odd = count % 4
    for d in range(0, depth, WIDTH):
        total = splat(0.0)
        for i in range(odd):
            total = total + load(x, rows[i] + d)
        store(mean, d, total)
    for i in range(odd, count, 4):
        r0, r1, r2, r3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for d in range(0, depth, WIDTH):
            low = load(x, r0 + d) + load(x, r1 + d)
            high = load(x, r2 + d) + load(x, r3 + d)
            store(mean, d, load(mean, d) + (low + high))
    for d in range(0, depth, WIDTH):
        store(mean, d, load(mean, d) * share)


@njit(nogil=True, cache=True)
def scatter(x: Any, rows: Any, count: Any, change: Any, depth: Any) -> None:
    """Add the change to each of the rows."""
    for i in range(count):
        row = rows[i]
        for d in range(0, depth, WIDTH):
            store(x, row + d, load(x, row + d) + load(change, d))


@njit(nogil=True, cache=True)
def move(mean: Any, change: Any, total: Any, depth: Any) -> None:
    """Let the mean and the total take the step in `change`, and clear it."""
    for d in range(0, depth, WIDTH):
        part = load(change, d)
        store(mean, d, load(mean, d) + part)
        store(total, d, load(total, d) + part)
        store(change, d, splat(0.0))


@njit(nogil=True, cache=True)
def cbow(
    tokens: Any, weights: Any, draws: Any, paths: Any, grams: Any, work: Any
) -> Any:
    """One block of CBOW; with the tree where there is no noise to draw from.

    No path has more than `longest` tiles, and no word more than `widest` rows.
    """
    x, y, stride, depth = weights
    keep, noise, window, negative, state = draws
    offsets, nodes, codes, longest = paths
    gram_offsets, gram_ids, widest = grams
    signs, rate, slope, floor, tally = work
    tree = noise.size == 0
    tiles = longest if tree else (1 + negative + TILE - 1) // TILE
    outputs = tiles * TILE
    no_output = y.size - stride
    planned = 1 if tree else PLANNED
    kept = np.empty(SENTENCE, np.int64)
    lefts = np.empty(planned, np.int64)
    rights = np.empty(planned, np.int64)
    rows = np.empty(planned * outputs, np.int64)
    soon = np.empty(1, np.int64)
    bag = np.empty(2 * window * widest, np.int64)
    pool, state = new_pool(state, noise)
    mean = np.zeros(depth, np.float32)
    change = np.zeros(depth, np.float32)
    at = examples = words = 0
    while at < tokens.size:
        now = np.float32(max(floor, rate - slope * at))
        at, n, state = sentence(tokens, at, keep, kept, state)
        words += n
        for start in range(0, n, planned):
            stop = min(n, start + planned)
            for centre in range(start, stop):
                i = centre - start
                state = step(state)
                far = reach(state, window)
                lefts[i] = max(0, centre - far)
                rights[i] = min(n, centre + far + 1)
                if tree:
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
                elif n > 1:
                    state = noise_tiles(
                        state,
                        noise,
                        pool,
                        kept[centre],
                        rows,
                        i * outputs,
                        negative,
                        stride,
                        no_output,
                    )
            if n == 1:
                continue
            for centre in range(start, stop):
                i = centre - start
                if centre + 1 < stop:
                    fetch_rows(y, rows, (i + 1) * outputs, (i + 2) * outputs, depth)
                    soon[0] = kept[min(n - 1, centre + 1 + window)] * stride
                    fetch_rows(x, soon, 0, 1, depth)
                size = 0
                for place in range(lefts[i], rights[i]):
                    if place != centre:
                        size = bag_of(
                            kept[place], gram_offsets, gram_ids, bag, size, stride
                        )
                gather(x, bag, size, mean, depth)
                for t in range(tiles):
                    single(
                        mean,
                        0,
                        change,
                        y,
                        rows,
                        i * outputs + t * TILE,
                        depth,
                        signs,
                        t * 2 * WIDTH,
                        now,
                        tally,
                    )
                scatter(x, bag, size, change, depth)
                change[:] = np.float32(0.0)
                examples += 1
    return examples, words


@njit(nogil=True, cache=True)
def subwords(
    tokens: Any, weights: Any, draws: Any, paths: Any, grams: Any, work: Any
) -> Any:
    """One block of skip-gram whose inputs are words with their subwords."""
    x, y, stride, depth = weights
    keep, noise, window, negative, state = draws
    offsets, nodes, codes, longest = paths
    gram_offsets, gram_ids, widest = grams
    signs, rate, slope, floor, tally = work
    tree = noise.size == 0
    tiles = longest if tree else (1 + negative + TILE - 1) // TILE
    outputs = tiles * TILE
    no_output = y.size - stride
    kept = np.empty(SENTENCE, np.int64)
    rows = np.empty(2 * window * outputs, np.int64)
    bag = np.empty(widest, np.int64)
    soon = np.empty(widest, np.int64)
    pool, state = new_pool(state, noise)
    mean = np.zeros(depth, np.float32)
    change = np.zeros(depth, np.float32)
    total = np.zeros(depth, np.float32)
    at = examples = words = 0
    while at < tokens.size:
        now = np.float32(max(floor, rate - slope * at))
        at, n, state = sentence(tokens, at, keep, kept, state)
        words += n
        coming = 0
        if n:
            coming = bag_of(kept[0], gram_offsets, gram_ids, soon, 0, stride)
        for centre in range(n):
            bag, soon = soon, bag
            size = coming
            if centre + 1 < n:
                coming = bag_of(
                    kept[centre + 1], gram_offsets, gram_ids, soon, 0, stride
                )
                fetch_rows(x, soon, 0, coming, depth)
            state = step(state)
            far = reach(state, window)
            left, right = max(0, centre - far), min(n, centre + far + 1)
            if right - left == 1:
                continue
            if not tree:
                i = 0
                for place in range(left, right):
                    if place != centre:
                        state = noise_tiles(
                            state,
                            noise,
                            pool,
                            kept[place],
                            rows,
                            i,
                            negative,
                            stride,
                            no_output,
                        )
                        i += outputs
                fetch_rows(y, rows, 0, outputs, depth)
            gather(x, bag, size, mean, depth)
            i = 0
            last = (right - left - 2) * outputs
            for place in range(left, right):
                if place == centre:
                    continue
                if tree:
                    tiles = path_tiles(
                        kept[place],
                        offsets,
                        nodes,
                        codes,
                        rows,
                        signs,
                        WIDTH,
                        stride,
                        no_output,
                    )
                elif i < last:
                    fetch_rows(y, rows, i + outputs, i + 2 * outputs, depth)
                for t in range(tiles):
                    single(
                        mean,
                        0,
                        change,
                        y,
                        rows,
                        i + t * TILE,
                        depth,
                        signs,
                        t * 2 * WIDTH,
                        now,
                        tally,
                    )
                move(mean, change, total, depth)
                if not tree:
                    i += outputs
                examples += 1
            scatter(x, bag, size, total, depth)
            total[:] = np.float32(0.0)
    return examples, words
