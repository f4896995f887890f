"""What training changes: the matrices, laid out for the processor.

A row is padded with zeros to whole cache lines, so that it begins on one and no
loop has a remainder; where that would waste too much, to whole vectors. After the
last row comes one of zeros, which stands for a word that is not there. `compact`
moves the rows together again, in place, when training is done.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedline.words.engine.config import Config

Matrix = NDArray[np.float32]

_LINE, _VECTOR = 16, 8
_CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class Weights:
    """Input and output rows, padded, each with a last row of zeros."""

    inputs: Matrix
    outputs: Matrix
    dim: int

    @property
    def stride(self) -> int:
        return int(self.inputs.shape[1])


@dataclass(frozen=True, eq=False)
class GloveWeights:
    """GloVe's rows, their biases behind them, and AdaGrad's sums of squares."""

    inputs: Matrix
    outputs: Matrix
    input_squares: Matrix
    output_squares: Matrix
    bias: int
    """The column of the bias: after the padded vector, the same on every machine."""

    def matrices(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        return self.inputs, self.outputs, self.input_squares, self.output_squares


def stride_of(dim: int) -> int:
    """Floats from one row to the next."""
    lines = -(-dim // _LINE) * _LINE
    return lines if lines * 8 <= dim * 9 else -(-dim // _VECTOR) * _VECTOR


def depth_of(dim: int, width: int) -> int:
    """Floats of a row that are computed with."""
    return -(-dim // width) * width


def blank(rows: int, dim: int, width: int = 8) -> Matrix:
    """Rows of zeros and the one after them, the first on a cache line."""
    stride = max(stride_of(dim), depth_of(dim, width))
    flat = np.zeros((rows + 1) * stride + _LINE, np.float32)
    skip = -(flat.ctypes.data // 4) % _LINE
    return flat[skip : skip + (rows + 1) * stride].reshape(rows + 1, stride)


def fill_random(matrix: Matrix, start: int, stop: int, dim: int, seed: int) -> None:
    """word2vec's first values for some input rows: within half a dimension's share."""
    generator = np.random.default_rng([seed, start])
    for low in range(start, stop, _CHUNK):
        high = min(stop, low + _CHUNK)
        values = generator.random((high - low, dim), dtype=np.float32)
        matrix[low:high, :dim] = (values - np.float32(0.5)) / np.float32(dim)


def fresh(config: Config, input_rows: int, output_rows: int, width: int = 8) -> Weights:
    """The matrices at the start: inputs at random, outputs zero."""
    inputs = blank(input_rows, config.dim, width)
    fill_random(inputs, 0, input_rows, config.dim, config.seed)
    return Weights(inputs, blank(output_rows, config.dim, width), config.dim)


def fresh_glove(config: Config, words: int) -> GloveWeights:
    """GloVe's start: vectors and biases at random, all sums of squares 1."""
    bias = -(-config.dim // _LINE) * _LINE
    made = []
    for number in range(4):
        matrix = blank(words, bias + 1)
        if number < 2:
            fill_random(matrix, 0, words, config.dim, config.seed + number)
            column = np.random.default_rng([config.seed, number, words])
            values = column.random(words, dtype=np.float32) - np.float32(0.5)
            matrix[:words, bias] = values / np.float32(config.dim)
        else:
            matrix[:] = 1.0
        made.append(matrix)
    return GloveWeights(made[0], made[1], made[2], made[3], bias)


def compact(matrix: Matrix, rows: int, dim: int) -> Matrix:
    """The first rows without padding, moved together in place. No copy is made;
    the padded matrix is not to be used afterwards."""
    flat = matrix.reshape(-1)
    _compact(flat, rows, dim, matrix.shape[1])
    return flat[: rows * dim].reshape(rows, dim)


@njit(cache=True)
def _compact(flat: Matrix, rows: int, dim: int, stride: int) -> None:
    for row in range(1, rows):
        for d in range(dim):
            flat[row * dim + d] = flat[row * stride + d]
