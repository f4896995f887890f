"""The inner loops: input rows against six output rows, held in registers.

A tile is a small matrix product there and back. For input rows `a` and `b` and
output rows y0 ... y5 it takes the twelve dot products, turns each into an error

    p = sigmoid(sign * dot + shift)        the probability of what was seen
    g = rate * sign * (1 - p)

and moves all eight rows along their gradients, every gradient taken from the
rows as they were before the tile. Twelve sums live in registers while the
dimension is walked once, then twelve errors while it is walked a second time: a
row is loaded twice and stored once where twelve separate dot products would load
it twelve times.

`signs` holds, for each kind of tile, WIDTH signs and WIDTH shifts: sign +1 for
what was seen and -1 for noise; a lane that stands for nothing has sign 0 and
shift 40, whose p is 1 and whose g is 0. Where there is no second input row, `b`
is a row of zeros and its signs are such lanes.

`tally` holds the loss: -log of the product of all p. The product is kept as
mantissas (first WIDTH numbers) and exponents (the next WIDTH), so that no
logarithm is taken until the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedline.words.engine.simd import (
    TILE,
    WIDTH,
    exponent,
    fma,
    lane,
    load,
    mantissa,
    prefetch,
    sigmoid,
    splat,
    store,
    sums,
)

LINE = 16  # floats of a cache line


def noise_signs(negative: int) -> NDArray[np.float32]:
    """The signs of one target and `negative` words of noise, tile by tile, and one
    tile more, of nothing."""
    tiles = (1 + negative + TILE - 1) // TILE
    signs = np.zeros((tiles + 1, 2, WIDTH), np.float32)
    signs[:, 1] = 40.0
    for i in range(1 + negative):
        signs[i // TILE, :, i % TILE] = (1.0 if i == 0 else -1.0), 0.0
    return signs.reshape(-1)


def blank_signs(tiles: int) -> NDArray[np.float32]:
    """Room for the signs of so many tiles, all of nothing."""
    signs = np.zeros((tiles, 2, WIDTH), np.float32)
    signs[:, 1] = 40.0
    return signs.reshape(-1)


def new_tally() -> NDArray[np.float32]:
    """No loss yet."""
    return np.repeat(np.array([1.0, 0.0], np.float32), WIDTH)


def loss_of(tally: NDArray[np.float32]) -> float:
    """The loss that a tally stands for."""
    whole = tally.astype(np.float64)
    return float(-(np.log(whole[:WIDTH]).sum() + np.log(2.0) * whole[WIDTH:].sum()))


@njit(nogil=True, cache=True)
def fetch_rows(matrix: Any, rows: Any, start: Any, stop: Any, depth: Any) -> None:
    """Ask for rows that will be needed soon."""
    for i in range(start, stop):
        for d in range(0, depth, LINE):
            prefetch(matrix, rows[i] + d)


@njit(nogil=True, cache=True)
def borrow(y: Any, rows: Any, near: Any, before: Any, stride: Any, depth: Any) -> None:
    """Copy the rows of the first tile to `near`, and to `before`, to be compared."""
    for i in range(TILE):
        for d in range(0, depth, WIDTH):
            w = load(y, rows[i] + d)
            store(near, i * stride + d, w)
            store(before, i * stride + d, w)


@njit(nogil=True, cache=True)
def give_back(
    y: Any, rows: Any, near: Any, before: Any, stride: Any, depth: Any
) -> None:
    """Add to the rows what has changed in their copies."""
    for i in range(TILE):
        for d in range(0, depth, WIDTH):
            change = load(near, i * stride + d) - load(before, i * stride + d)
            store(y, rows[i] + d, load(y, rows[i] + d) + change)


@njit(nogil=True, cache=True)
def pair(
    x: Any,
    a: Any,
    b: Any,
    y: Any,
    rows: Any,
    at: Any,
    depth: Any,
    signs: Any,
    sign_a: Any,
    sign_b: Any,
    rate: Any,
    tally: Any,
) -> None:
    """Two input rows, `a` and `b` of `x`, against six rows of `y`."""
    y0, y1, y2 = rows[at], rows[at + 1], rows[at + 2]
    y3, y4, y5 = rows[at + 3], rows[at + 4], rows[at + 5]
    zero = splat(0.0)
    a0 = a1 = a2 = a3 = a4 = a5 = zero
    b0 = b1 = b2 = b3 = b4 = b5 = zero
    for d in range(0, depth, WIDTH):
        u = load(x, a + d)
        v = load(x, b + d)
        w = load(y, y0 + d)
        a0 = fma(u, w, a0)
        b0 = fma(v, w, b0)
        w = load(y, y1 + d)
        a1 = fma(u, w, a1)
        b1 = fma(v, w, b1)
        w = load(y, y2 + d)
        a2 = fma(u, w, a2)
        b2 = fma(v, w, b2)
        w = load(y, y3 + d)
        a3 = fma(u, w, a3)
        b3 = fma(v, w, b3)
        w = load(y, y4 + d)
        a4 = fma(u, w, a4)
        b4 = fma(v, w, b4)
        w = load(y, y5 + d)
        a5 = fma(u, w, a5)
        b5 = fma(v, w, b5)
    sa = load(signs, sign_a)
    sb = load(signs, sign_b)
    pa = sigmoid(fma(sums(a0, a1, a2, a3, a4, a5), sa, load(signs, sign_a + WIDTH)))
    pb = sigmoid(fma(sums(b0, b1, b2, b3, b4, b5), sb, load(signs, sign_b + WIDTH)))
    product = load(tally, 0) * (pa * pb)
    store(tally, WIDTH, load(tally, WIDTH) + exponent(product))
    store(tally, 0, mantissa(product))
    one = splat(1.0)
    ga = (one - pa) * sa * splat(rate)
    gb = (one - pb) * sb * splat(rate)
    a0, a1, a2 = lane(ga, 0), lane(ga, 1), lane(ga, 2)
    a3, a4, a5 = lane(ga, 3), lane(ga, 4), lane(ga, 5)
    b0, b1, b2 = lane(gb, 0), lane(gb, 1), lane(gb, 2)
    b3, b4, b5 = lane(gb, 3), lane(gb, 4), lane(gb, 5)
    for d in range(0, depth, WIDTH):
        u = load(x, a + d)
        v = load(x, b + d)
        w = load(y, y0 + d)
        ea = a0 * w
        eb = b0 * w
        store(y, y0 + d, fma(a0, u, fma(b0, v, w)))
        w = load(y, y1 + d)
        ea = fma(a1, w, ea)
        eb = fma(b1, w, eb)
        store(y, y1 + d, fma(a1, u, fma(b1, v, w)))
        w = load(y, y2 + d)
        ea = fma(a2, w, ea)
        eb = fma(b2, w, eb)
        store(y, y2 + d, fma(a2, u, fma(b2, v, w)))
        w = load(y, y3 + d)
        ea = fma(a3, w, ea)
        eb = fma(b3, w, eb)
        store(y, y3 + d, fma(a3, u, fma(b3, v, w)))
        w = load(y, y4 + d)
        ea = fma(a4, w, ea)
        eb = fma(b4, w, eb)
        store(y, y4 + d, fma(a4, u, fma(b4, v, w)))
        w = load(y, y5 + d)
        ea = fma(a5, w, ea)
        eb = fma(b5, w, eb)
        store(y, y5 + d, fma(a5, u, fma(b5, v, w)))
        store(x, a + d, u + ea)
        # Loaded once more: where a and b are one word, a's step must not be lost.
        store(x, b + d, load(x, b + d) + eb)


@njit(nogil=True, cache=True)
def half(
    x: Any,
    a: Any,
    b: Any,
    y: Any,
    rows: Any,
    at: Any,
    depth: Any,
    signs: Any,
    sign_a: Any,
    sign_b: Any,
    rate: Any,
    tally: Any,
) -> None:
    """As `pair`, against three rows of `y`: for the end of a path, where the other
    three would stand for nothing."""
    y0, y1, y2 = rows[at], rows[at + 1], rows[at + 2]
    zero = splat(0.0)
    a0 = a1 = a2 = b0 = b1 = b2 = zero
    for d in range(0, depth, WIDTH):
        u = load(x, a + d)
        v = load(x, b + d)
        w = load(y, y0 + d)
        a0 = fma(u, w, a0)
        b0 = fma(v, w, b0)
        w = load(y, y1 + d)
        a1 = fma(u, w, a1)
        b1 = fma(v, w, b1)
        w = load(y, y2 + d)
        a2 = fma(u, w, a2)
        b2 = fma(v, w, b2)
    sa = load(signs, sign_a)
    sb = load(signs, sign_b)
    dots = sums(a0, a1, a2, zero, zero, zero)
    pa = sigmoid(fma(dots, sa, load(signs, sign_a + WIDTH)))
    dots = sums(b0, b1, b2, zero, zero, zero)
    pb = sigmoid(fma(dots, sb, load(signs, sign_b + WIDTH)))
    product = load(tally, 0) * (pa * pb)
    store(tally, WIDTH, load(tally, WIDTH) + exponent(product))
    store(tally, 0, mantissa(product))
    one = splat(1.0)
    ga = (one - pa) * sa * splat(rate)
    gb = (one - pb) * sb * splat(rate)
    a0, a1, a2 = lane(ga, 0), lane(ga, 1), lane(ga, 2)
    b0, b1, b2 = lane(gb, 0), lane(gb, 1), lane(gb, 2)
    for d in range(0, depth, WIDTH):
        u = load(x, a + d)
        v = load(x, b + d)
        w = load(y, y0 + d)
        ea = a0 * w
        eb = b0 * w
        store(y, y0 + d, fma(a0, u, fma(b0, v, w)))
        w = load(y, y1 + d)
        ea = fma(a1, w, ea)
        eb = fma(b1, w, eb)
        store(y, y1 + d, fma(a1, u, fma(b1, v, w)))
        w = load(y, y2 + d)
        ea = fma(a2, w, ea)
        eb = fma(b2, w, eb)
        store(y, y2 + d, fma(a2, u, fma(b2, v, w)))
        store(x, a + d, u + ea)
        # Loaded once more, as in `pair`.
        store(x, b + d, load(x, b + d) + eb)


@njit(nogil=True, cache=True)
def single(
    x: Any,
    a: Any,
    error: Any,
    y: Any,
    rows: Any,
    at: Any,
    depth: Any,
    signs: Any,
    sign_a: Any,
    rate: Any,
    tally: Any,
) -> None:
    """One input row against six rows of `y`. Its own step is added to `error`,
    which may be the row itself (`x` at `a`) or another place of the same size."""
    y0, y1, y2 = rows[at], rows[at + 1], rows[at + 2]
    y3, y4, y5 = rows[at + 3], rows[at + 4], rows[at + 5]
    zero = splat(0.0)
    a0 = a1 = a2 = a3 = a4 = a5 = zero
    for d in range(0, depth, WIDTH):
        u = load(x, a + d)
        a0 = fma(u, load(y, y0 + d), a0)
        a1 = fma(u, load(y, y1 + d), a1)
        a2 = fma(u, load(y, y2 + d), a2)
        a3 = fma(u, load(y, y3 + d), a3)
        a4 = fma(u, load(y, y4 + d), a4)
        a5 = fma(u, load(y, y5 + d), a5)
    sa = load(signs, sign_a)
    p = sigmoid(fma(sums(a0, a1, a2, a3, a4, a5), sa, load(signs, sign_a + WIDTH)))
    product = load(tally, 0) * p
    store(tally, WIDTH, load(tally, WIDTH) + exponent(product))
    store(tally, 0, mantissa(product))
    g = (splat(1.0) - p) * sa * splat(rate)
    a0, a1, a2 = lane(g, 0), lane(g, 1), lane(g, 2)
    a3, a4, a5 = lane(g, 3), lane(g, 4), lane(g, 5)
    for d in range(0, depth, WIDTH):
        u = load(x, a + d)
        w = load(y, y0 + d)
        e = a0 * w
        store(y, y0 + d, fma(a0, u, w))
        w = load(y, y1 + d)
        e = fma(a1, w, e)
        store(y, y1 + d, fma(a1, u, w))
        w = load(y, y2 + d)
        e = fma(a2, w, e)
        store(y, y2 + d, fma(a2, u, w))
        w = load(y, y3 + d)
        e = fma(a3, w, e)
        store(y, y3 + d, fma(a3, u, w))
        w = load(y, y4 + d)
        e = fma(a4, w, e)
        store(y, y4 + d, fma(a4, u, w))
        w = load(y, y5 + d)
        e = fma(a5, w, e)
        store(y, y5 + d, fma(a5, u, w))
        store(error, d, load(error, d) + e)
