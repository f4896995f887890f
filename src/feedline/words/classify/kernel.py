"""The compiled loops: train on a stretch of texts, and compute probabilities.

A text is a bag of rows: its words, the end of the text, its n-grams. With x the
mean of n rows, and W the output rows, one for each label,

    p = softmax(W x)        g = rate (t - p)        t: 1 / k for each of k labels
    rows += W' g / n        W += g x'

is one step of gradient descent on the cross-entropy. fastText draws one of a text's
labels each time it is met; t is what that comes to on average.

Threads work on the same matrices without locks. Most input rows are met rarely, and
collisions do no harm. But every step of every thread writes all the output rows, the
row of the end, and those of the most frequent words, so that cores would mostly wait
for each other's cache lines. Of these a thread has copies of its own; after every
`SHARED` texts it adds what it changed to the common rows, and takes over what the
others did.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from feedline.words.engine.bag import gather, scatter
from feedline.words.engine.simd import (
    TILE,
    WIDTH,
    fma,
    load,
    prefetch,
    splat,
    store,
    sums,
)

SHARED = 32
HOT = 512
# Output matrices beyond this many floats are worked on where they are: copying them
# would cost more than waiting.
COPIED = 1 << 20
_LINE = 16


@njit(nogil=True, cache=True)
def scores(w: Any, mean: Any, z: Any, classes: Any, stride: Any, depth: Any) -> None:
    """z = w mean. Rows are taken six at a time; there are rows for whole tiles."""
    for first in range(0, classes, TILE):
        r = first * stride
        a = b = c = d = e = f = splat(0.0)
        for at in range(0, depth, WIDTH):
            m = load(mean, at)
            a = fma(load(w, r + at), m, a)
            b = fma(load(w, r + stride + at), m, b)
            c = fma(load(w, r + 2 * stride + at), m, c)
            d = fma(load(w, r + 3 * stride + at), m, d)
            e = fma(load(w, r + 4 * stride + at), m, e)
            f = fma(load(w, r + 5 * stride + at), m, f)
        # Writes WIDTH numbers, of which the next tile overwrites those beyond six.
        store(z, first, sums(a, b, c, d, e, f))


@njit(nogil=True, cache=True)
def softmax(z: Any, classes: Any) -> None:
    """From scores to probabilities, in place."""
    most = z[0]
    for i in range(1, classes):
        most = max(most, z[i])
    total = np.float32(0.0)
    for i in range(classes):
        z[i] = np.exp(z[i] - most)
        total += z[i]
    share = np.float32(1.0) / total
    for i in range(classes):
        z[i] *= share


@njit(nogil=True, cache=True)
def step(
    w: Any, mean: Any, g: Any, change: Any, classes: Any, stride: Any, depth: Any
) -> None:
    """change = w' g, then w += g mean'."""
    for at in range(0, depth, WIDTH):
        store(change, at, splat(0.0))
    for first in range(0, classes, TILE):
        r = first * stride
        a, b, c = splat(g[first]), splat(g[first + 1]), splat(g[first + 2])
        d, e, f = splat(g[first + 3]), splat(g[first + 4]), splat(g[first + 5])
        for at in range(r, r + depth, WIDTH):
            m = load(mean, at - r)
            total = load(change, at - r)
            row = load(w, at)
            total = fma(a, row, total)
            store(w, at, fma(a, m, row))
            row = load(w, at + stride)
            total = fma(b, row, total)
            store(w, at + stride, fma(b, m, row))
            row = load(w, at + 2 * stride)
            total = fma(c, row, total)
            store(w, at + 2 * stride, fma(c, m, row))
            row = load(w, at + 3 * stride)
            total = fma(d, row, total)
            store(w, at + 3 * stride, fma(d, m, row))
            row = load(w, at + 4 * stride)
            total = fma(e, row, total)
            store(w, at + 4 * stride, fma(e, m, row))
            row = load(w, at + 5 * stride)
            total = fma(f, row, total)
            store(w, at + 5 * stride, fma(f, m, row))
            store(change, at - r, total)


@njit(nogil=True, cache=True)
def share(
    common: Any, to: Any, own: Any, start: Any, base: Any, first: Any, size: Any
) -> None:
    """Give the changes of one's own numbers since `base` to the common ones, and take
    over theirs. Each array is followed by the place where the numbers begin."""
    for at in range(0, size, WIDTH):
        new = load(common, to + at) + (load(own, start + at) - load(base, first + at))
        store(common, to + at, new)
        store(own, start + at, new)
        store(base, first + at, new)


@njit(nogil=True, cache=True)
def rows_of(
    text: Any,
    offsets: Any,
    ids: Any,
    rows: Any,
    x: Any,
    stride: Any,
    depth: Any,
    hot: Any,
    own: Any,
) -> Any:
    """Where the rows of a text begin, and ask for them; how many. The first `hot` have
    copies from row `own` on."""
    start = offsets[text]
    count = offsets[text + 1] - start
    for i in range(count):
        row = np.int64(ids[start + i])
        if row < hot:
            row += own
        row *= stride
        rows[i] = row
        for at in range(0, depth, _LINE):
            prefetch(x, row + at)
    return count


@njit(nogil=True, cache=True)
def train(
    order: Any,
    offsets: Any,
    ids: Any,
    label_offsets: Any,
    label_ids: Any,
    x: Any,
    common: Any,
    stride: Any,
    depth: Any,
    classes: Any,
    widest: Any,
    rate: Any,
    slope: Any,
    hot: Any,
    own: Any,
) -> Any:
    """Train on the texts in `order`; the sum of their losses.

    No text has more than `widest` rows. Where other threads are at work, `hot` rows
    are copied to `own`, a row of `x` from which on all is this thread's.
    """
    mine, base = common, common
    copied = hot > 0 and common.size <= COPIED
    if copied:
        mine, base = common.copy(), common.copy()
    warm = x[: hot * stride].copy()
    x[own * stride : (own + hot) * stride] = warm
    mean = np.zeros(depth, np.float32)
    change = np.zeros(depth, np.float32)
    z = np.zeros(classes + TILE + WIDTH, np.float32)
    rows = np.empty(widest, np.int64)
    soon = np.empty(widest, np.int64)
    loss = 0.0
    coming = 0
    if order.size:
        coming = rows_of(order[0], offsets, ids, soon, x, stride, depth, hot, own)
    for place in range(order.size):
        text = order[place]
        rows, soon = soon, rows
        count = coming
        if place + 1 < order.size:
            text_after = order[place + 1]
            coming = rows_of(text_after, offsets, ids, soon, x, stride, depth, hot, own)
        now = np.float32(max(0.0, rate - slope * place))
        gather(x, rows, count, mean, depth)
        scores(mine, mean, z, classes, stride, depth)
        softmax(z, classes)
        first, end = label_offsets[text], label_offsets[text + 1]
        wanted = np.float32(1.0) / np.float32(end - first)
        for i in range(first, end):
            loss -= wanted * np.log(max(z[label_ids[i]], np.float32(1e-30)))
        for i in range(classes):
            z[i] *= -now
        for i in range(first, end):
            z[label_ids[i]] += now * wanted
        for i in range(classes, classes + TILE):
            z[i] = np.float32(0.0)
        step(mine, mean, z, change, classes, stride, depth)
        part = splat(np.float32(1.0) / np.float32(count))
        for at in range(0, depth, WIDTH):
            store(change, at, load(change, at) * part)
        scatter(x, rows, count, change, depth)
        if hot and ((place + 1) % SHARED == 0 or place + 1 == order.size):
            share(x, 0, x, own * stride, warm, 0, hot * stride)
            if copied:
                share(common, 0, mine, 0, base, 0, common.size)
    return loss


@njit(nogil=True, cache=True)
def probabilities(
    offsets: Any,
    ids: Any,
    x: Any,
    w: Any,
    stride: Any,
    depth: Any,
    classes: Any,
    widest: Any,
    out: Any,
) -> None:
    """Each text's probabilities into a row of `out`."""
    mean = np.zeros(depth, np.float32)
    z = np.zeros(classes + TILE + WIDTH, np.float32)
    rows = np.empty(widest, np.int64)
    for text in range(out.shape[0]):
        count = rows_of(text, offsets, ids, rows, x, stride, depth, 0, 0)
        gather(x, rows, count, mean, depth)
        scores(w, mean, z, classes, stride, depth)
        softmax(z, classes)
        out[text] = z[:classes]
