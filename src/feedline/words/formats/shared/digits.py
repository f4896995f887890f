"""Rows of float32 to text, compiled: the fewest digits that come back the same.

Six digits are tried first, then up to nine, which always do. The digits are found
and proved in doubles: with no more than nine digits and a power of ten up to 22
both are exact, so the division that a reader does rounds once. Numbers beyond
that range (below 1e-13 or from 1e22) are left to Python, row by row.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

# A sign, nine digits, a point, four zeros or an exponent, a separator.
WIDEST = 24

_POW10 = np.array([float(f"1e{k}") for k in range(23)])


@numba.njit(cache=True, nogil=True)
def write(rows: Floats, separator: int, out: Bytes, ends: NDArray[np.int64]) -> None:
    """The numbers of each row into `out`, one row after the other.

    `ends[i]` is the byte after row i, or minus that byte where Python has to write
    the row: `out` then holds nothing of it.
    """
    at = 0
    for row in range(rows.shape[0]):
        start = at
        good = True
        for i in range(rows.shape[1]):
            if i:
                out[at] = separator
                at += 1
            stop = _number(rows[row, i], out, at)
            if stop < 0:
                good = False
                break
            at = stop
        if not good:
            at = start
        ends[row] = at if good else -at - 1


@numba.njit(cache=True, nogil=True)
def _number(value: np.float32, out: Bytes, at: int) -> int:
    """The byte after the number; -1 where it is left to Python."""
    if np.signbit(value):
        out[at] = 45
        at += 1
    size = np.float64(abs(value))
    if size == 0:
        out[at] = 48
        return at + 1
    if not (1e-13 <= size < 1e22):
        return -1
    exponent = int(np.floor(np.log10(size)))
    digits = np.int64(0)
    found = False
    for precision in range(6, 10):
        power = precision - 1 - exponent
        if power > 22 or power < -22:
            return -1
        if power >= 0:
            digits = np.int64(size * _POW10[power] + 0.5)
            back = digits / _POW10[power]
        else:
            digits = np.int64(size / _POW10[-power] + 0.5)
            back = digits * _POW10[-power]
        if np.float32(back) == np.float32(size):
            found = True
            break
    if not found:
        return -1
    while digits % 10 == 0:
        digits //= 10
        power -= 1
    count = 0
    rest = digits
    while rest > 0:
        rest //= 10
        count += 1
    # The value is digits / 10**power; its first digit stands for 10**exponent. The
    # logarithm may have been off by one, so it is taken from the digits.
    exponent = count - 1 - power
    if exponent < -5 or exponent > 15:
        return int(_scientific(digits, count, exponent, out, at))
    return int(_fixed(digits, count, exponent, out, at))


@numba.njit(cache=True, nogil=True)
def _fixed(digits: int, count: int, exponent: int, out: Bytes, at: int) -> int:
    if exponent < 0:
        out[at] = 48
        out[at + 1] = 46
        at += 2
        for _ in range(-exponent - 1):
            out[at] = 48
            at += 1
        _put(digits, count, out, at)
        return at + count
    if count <= exponent + 1:
        _put(digits, count, out, at)
        for i in range(count, exponent + 1):
            out[at + i] = 48
        return at + exponent + 1
    # The point goes between: write one place to the right, then move the head.
    _put(digits, count, out, at + 1)
    for i in range(exponent + 1):
        out[at + i] = out[at + i + 1]
    out[at + exponent + 1] = 46
    return at + count + 1


@numba.njit(cache=True, nogil=True)
def _scientific(digits: int, count: int, exponent: int, out: Bytes, at: int) -> int:
    at = _fixed(digits, count, 0, out, at)
    out[at] = 101
    at += 1
    if exponent < 0:
        out[at] = 45
        at += 1
    size = abs(exponent)
    out[at] = 48 + size // 10
    out[at + 1] = 48 + size % 10
    return at + 2


@numba.njit(cache=True, nogil=True)
def _put(digits: int, count: int, out: Bytes, at: int) -> None:
    for i in range(count - 1, -1, -1):
        out[at + i] = 48 + digits % 10
        digits //= 10
