"""GloVe's inner loop: weighted least squares on log co-occurrences, by AdaGrad.

A record is a pair of words and the logarithm of their count. It is used in both
directions: the first word's row of `w` with the second's of `c`, and the reverse.
Rows hold the vector, and behind it, at `bias`, the word's bias; `gw` and `gc` hold
the sums of squared steps in the same places, and 1 where nothing is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from feedline.words.engine.simd import (
    WIDTH,
    fma,
    load,
    prefetch,
    root,
    splat,
    store,
    total,
)

AHEAD = 4
LINE = 16


@njit(nogil=True, cache=True)
def _update(
    w: Any,
    i: Any,
    c: Any,
    j: Any,
    gw: Any,
    gc: Any,
    depth: Any,
    bias: Any,
    log_count: Any,
    weight: Any,
    eta: Any,
) -> Any:
    """One step of one pair; gives its loss."""
    even = odd = splat(0.0)
    for d in range(0, depth - WIDTH, 2 * WIDTH):
        even = fma(load(w, i + d), load(c, j + d), even)
        odd = fma(load(w, i + d + WIDTH), load(c, j + d + WIDTH), odd)
    if depth % (2 * WIDTH):
        last = depth - WIDTH
        even = fma(load(w, i + last), load(c, j + last), even)
    difference = total(even + odd) + w[i + bias] + c[j + bias] - log_count
    step = weight * difference * eta
    g = splat(step)
    for d in range(0, depth, WIDTH):
        u, v = load(w, i + d), load(c, j + d)
        a, b = g * v, g * u
        p, q = load(gw, i + d), load(gc, j + d)
        store(w, i + d, u - a / root(p))
        store(c, j + d, v - b / root(q))
        store(gw, i + d, fma(a, a, p))
        store(gc, j + d, fma(b, b, q))
    w[i + bias] -= step / math.sqrt(gw[i + bias])
    c[j + bias] -= step / math.sqrt(gc[j + bias])
    gw[i + bias] += step * step
    gc[j + bias] += step * step
    return np.float32(0.5) * weight * difference * difference


@njit(nogil=True, cache=True)
def block(
    pairs: Any,
    log_counts: Any,
    w: Any,
    c: Any,
    gw: Any,
    gc: Any,
    stride: Any,
    depth: Any,
    bias: Any,
    log_x_max: Any,
    power: Any,
    eta: Any,
) -> Any:
    """Train on some records. Gives the loss and the number of steps."""
    loss, steps = 0.0, 0
    records = log_counts.size
    for r in range(records):
        if r + AHEAD < records:
            for side in range(2):
                soon = pairs[r + AHEAD, side] * stride
                for d in range(0, bias + 1, LINE):
                    prefetch(w, soon + d)
                    prefetch(c, soon + d)
                    prefetch(gw, soon + d)
                    prefetch(gc, soon + d)
        i, j = pairs[r, 0] * stride, pairs[r, 1] * stride
        x = log_counts[r]
        weight = np.float32(1.0)
        if x < log_x_max:
            weight = np.float32(math.exp(power * (x - log_x_max)))
        loss += _update(w, i, c, j, gw, gc, depth, bias, x, weight, eta)
        steps += 1
        if i != j:
            loss += _update(w, j, c, i, gw, gc, depth, bias, x, weight, eta)
            steps += 1
    return loss, steps
