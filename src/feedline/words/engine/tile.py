"""The inner loops: input rows against six output rows, held in registers.

A tile is a small matrix product there and back. For input rows `a` and `b` and
output rows y0 ... y5 it takes the twelve dot products, turns each into an error

    p = sigmoid(sign * dot + shift)        the probability of what was seen
    g = rate * sign * (1 - p)

and moves all eight rows along their gradients, every gradient taken from the
rows as they were before the tile. Twelve sums live in registers while the
dimension is walked once, then the errors while it is walked a second time: a
row is loaded twice and stored once where twelve separate dot products would load
it twelve times. With four input rows the first walk is taken twice, and the
errors of both are made at once: while one waits for its exponential, the
processor is busy with the other.

`signs` holds, for each kind of tile, WIDTH signs and WIDTH shifts: sign +1 for
what was seen and -1 for noise; a lane that stands for nothing has sign 0 and
shift 40, whose p is 1 and whose g is 0. Where there is no last input row, a row
of zeros stands in for it, and its signs are such lanes.

`tally` holds the loss: -log of the product of all p. The product is kept as
mantissas (first WIDTH numbers) and exponents (the next WIDTH), so that no
logarithm is taken until the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedline.words.engine.product import dots, move
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

dots_3, dots_6 = dots(3), dots(6)
move_2_3, move_2_6, move_4_6 = move(2, 3), move(2, 6), move(4, 6)


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


@njit(nogil=True, inline="always")
def weigh(dots: Any, signs: Any, sign: Any, rate: Any) -> Any:
    """The probabilities and the errors of six dot products."""
    s = load(signs, sign)
    p = sigmoid(fma(dots, s, load(signs, sign + WIDTH)))
    return p, (splat(1.0) - p) * s * splat(rate)


@njit(nogil=True, inline="always")
def count(p: Any, tally: Any) -> None:
    """Add the loss of these probabilities; of two at a time at most, as the product
    of more could be too small for a float32."""
    product = load(tally, 0) * p
    store(tally, WIDTH, load(tally, WIDTH) + exponent(product))
    store(tally, 0, mantissa(product))


@njit(nogil=True, cache=True)
def pair(
    x: Any,
    ins: Any,
    i: Any,
    there: Any,
    y: Any,
    rows: Any,
    at: Any,
    few: Any,
    depth: Any,
    signs: Any,
    sign: Any,
    nothing: Any,
    rate: Any,
    tally: Any,
) -> None:
    """Two input rows, `ins[i]` and the next, of which `there` stand for a word, against
    six rows of `y`, or three where these are `few`."""
    two = (ins[i], ins[i + 1])
    other = sign if there > 1 else nothing
    if few:
        a, b = dots_3(x, two, y, rows, at, depth)
    else:
        a, b = dots_6(x, two, y, rows, at, depth)
    p, a = weigh(a, signs, sign, rate)
    q, b = weigh(b, signs, other, rate)
    count(p * q, tally)
    if few:
        move_2_3(x, two, y, rows, at, depth, (a, b))
    else:
        move_2_6(x, two, y, rows, at, depth, (a, b))


@njit(nogil=True, cache=True)
def quad(
    x: Any,
    ins: Any,
    i: Any,
    there: Any,
    y: Any,
    rows: Any,
    at: Any,
    depth: Any,
    signs: Any,
    sign: Any,
    nothing: Any,
    rate: Any,
    tally: Any,
) -> None:
    """As `pair`, four input rows, of which three or four stand for a word."""
    left, right = (ins[i], ins[i + 1]), (ins[i + 2], ins[i + 3])
    four = (ins[i], ins[i + 1], ins[i + 2], ins[i + 3])
    other = sign if there > 3 else nothing
    a, b = dots_6(x, left, y, rows, at, depth)
    c, d = dots_6(x, right, y, rows, at, depth)
    p, a = weigh(a, signs, sign, rate)
    q, b = weigh(b, signs, sign, rate)
    r, c = weigh(c, signs, sign, rate)
    s, d = weigh(d, signs, other, rate)
    count(p * q, tally)
    count(r * s, tally)
    move_4_6(x, four, y, rows, at, depth, (a, b, c, d))


@njit(nogil=True, cache=True)
def step_together(
    x: Any,
    ins: Any,
    i: Any,
    there: Any,
    y: Any,
    rows: Any,
    at: Any,
    depth: Any,
    signs: Any,
    sign: Any,
    nothing: Any,
    rate: Any,
    tally: Any,
) -> None:
    """Up to four input rows, by `pair` or by `quad`."""
    work = (depth, signs, sign, nothing, rate, tally)
    if there < 3:
        pair(x, ins, i, there, y, rows, at, False, *work)
    else:
        quad(x, ins, i, there, y, rows, at, *work)


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
    p, g = weigh(sums(a0, a1, a2, a3, a4, a5), signs, sign_a, rate)
    count(p, tally)
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
