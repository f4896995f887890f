"""Lines of `word number number ...` to rows, compiled.

Decimals become the float32 that correct rounding by way of a double gives, as in
NumPy and gensim. The trick: up to 2**53 and 10**22 the digits and the power of
ten are exact doubles, so one multiplication or division rounds once. Beyond, the
product is off by less than 1e-15; if the float32 on both sides of that error is
the same, it is the answer. If not (about once in a hundred million numbers), and
where there are more digits than 64 bits hold, the line is marked and Python reads
it.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

# What a line can be, besides a row.
OK, FEW, NOT_NUMBER, NOT_FINITE, NO_WORD = 0, 1, 2, 3, 4

_POW10 = np.array([float(f"1e{k}") for k in range(309)])


@numba.njit(inline="always")
def _space(byte: int) -> bool:
    return byte == 32 or byte == 9 or byte == 13


@numba.njit(cache=True, nogil=True)
def _number(data: Bytes, at: int, end: int) -> tuple[np.float32, int, int]:
    """The number at `at`: its value, the byte after it, and a status.

    Status 0 is a number, 1 no number, 2 NaN or infinity, 3 one for Python to read.
    """
    start = at
    negative = False
    if at < end and (data[at] == 45 or data[at] == 43):
        negative = data[at] == 45
        at += 1
    mantissa = np.uint64(0)
    exponent = 0
    digits = at
    while at < end:
        digit = np.uint64(data[at]) - np.uint64(48)  # below 48 it wraps: large
        if digit > np.uint64(9):
            break
        mantissa = mantissa * np.uint64(10) + digit
        at += 1
    digits = at - digits
    if at < end and data[at] == 46:
        at += 1
        exponent = at
        while at < end:
            digit = np.uint64(data[at]) - np.uint64(48)
            if digit > np.uint64(9):
                break
            mantissa = mantissa * np.uint64(10) + digit
            at += 1
        exponent -= at
        digits -= exponent
    if digits == 0:
        stop, named = _named(data, start, end)
        return np.float32(0), stop, named
    if at < end and (data[at] == 101 or data[at] == 69):
        mark = at
        at += 1
        sign = 1
        if at < end and (data[at] == 45 or data[at] == 43):
            sign = -1 if data[at] == 45 else 1
            at += 1
        power = 0
        first = at
        while at < end and 48 <= data[at] <= 57:
            power = min(power * 10 + (data[at] - 48), 100_000)
            at += 1
        if at == first:
            return np.float32(0), mark, 1
        exponent += sign * power
    if at < end and not _space(data[at]):
        return np.float32(0), at, 1
    if digits > 19 or exponent < -300 or exponent > 300:
        return np.float32(0), at, 3
    value = np.float64(mantissa)
    if exponent < 0:
        value /= _POW10[-exponent]
    else:
        value *= _POW10[exponent]
    if mantissa > np.uint64(1 << 53) or exponent < -22 or exponent > 22:
        low = np.float32(value * (1 - 1e-15))
        if low != np.float32(value * (1 + 1e-15)):
            return np.float32(0), at, 3
    result = np.float32(-value if negative else value)
    return result, at, (2 if np.isinf(result) else 0)


@numba.njit(cache=True, nogil=True)
def _named(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """`nan`, `inf` and `infinity` in any case are no numbers of a vector."""
    if at < end and (data[at] == 45 or data[at] == 43):
        at += 1
    stop = at
    while stop < end and not _space(data[stop]):
        stop += 1
    status = 1
    if stop - at == 3 or stop - at == 8:
        a, b, c = data[at] | 32, data[at + 1] | 32, data[at + 2] | 32
        nan = a == 110 and b == 97 and c == 110 and stop - at == 3
        inf = a == 105 and b == 110 and c == 102
        if nan or inf:
            status = 2
    return stop, status


@numba.njit(cache=True, nogil=True)
def _row(
    data: Bytes, at: int, end: int, dim: int, out: Floats
) -> tuple[int, bool, int]:
    """Exactly `dim` numbers from `at` to `end`: status, redo, and where it failed."""
    redo = False
    for i in range(dim):
        while at < end and _space(data[at]):
            at += 1
        if at >= end:
            return 1, redo, at
        value, stop, status = _number(data, at, end)
        if status == 1:
            return 2, redo, at
        if status == 2:
            return 3, redo, at
        if status == 3:
            redo = True
        out[i] = value
        at = stop
    while at < end and _space(data[at]):
        at += 1
    return (0 if at >= end else 5), redo, at


@numba.njit(cache=True, nogil=True)
def _last_fields(data: Bytes, start: int, end: int, dim: int) -> int:
    """Where the last `dim` fields of the line begin; -1 where it has fewer."""
    at = end
    for _ in range(dim):
        while at > start and _space(data[at - 1]):
            at -= 1
        if at == start:
            return -1
        while at > start and not _space(data[at - 1]):
            at -= 1
    return at


@numba.njit(cache=True, nogil=True)
def parse(
    data: Bytes,
    dim: int,
    bare: bool,
    rows: Floats,
    spans: NDArray[np.int64],
    redo: NDArray[np.bool_],
) -> tuple[int, int, int, int]:
    """Fill `rows` from the lines of `data`.

    `spans[i]` gets the first and last byte of row i's word and its line's last;
    `redo[i]` is set where Python must read the numbers again. With `bare` the
    lines have no words. Gives the rows and lines done, the status of the line
    that stopped it, and the byte.

    Most lines are a word without a space, so the first try takes the word up to
    the first separator; only where that is no row are the fields counted from
    the right, which is what lets a word hold spaces.
    """
    at = 0
    done = 0
    lines = 0
    size = len(data)
    while at < size:
        start = at
        end = at
        while end < size and data[end] != 10:
            end += 1
        at = end + 1
        lines += 1
        word = start
        while end > start and _space(data[end - 1]):
            end -= 1
        if end == start:
            continue
        if done >= len(rows):
            return done, lines, 1, start
        if not bare:
            while word < end and not _space(data[word]):
                word += 1
            if word == start:
                # A line that begins with a separator: its word may too.
                while word < end and _space(data[word]):
                    word += 1
                while word < end and not _space(data[word]):
                    word += 1
        status, again, where = _row(data, word, end, dim, rows[done])
        if status != 0 and not bare:
            first = _last_fields(data, start, end, dim)
            if first < 0:
                return done, lines, 1, start
            status, again, where = _row(data, first, end, dim, rows[done])
            word = first
            # One separator stands between; what is before it is the word's.
            if word > start:
                word -= 1
        if status == 5:
            return done, lines, 2, where
        if status != 0:
            return done, lines, status, where
        if not bare and word == start:
            return done, lines, 4, start
        spans[done, 0] = start
        spans[done, 1] = word
        spans[done, 2] = end
        redo[done] = again
        done += 1
    return done, lines, 0, size
