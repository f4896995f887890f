"""The CPU engine: compiled kernels, one call for each block of tokens.

Kernels hold no lock and let go of Python's: threads train on the same matrices at
once and now and then overwrite each other's step (Hogwild), which costs nothing
that can be measured. With one thread the result depends on the seed alone and
agrees with the reference engine within rounding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedline.words.engine import bag, skipgram
from feedline.words.engine import glove as glove_kernel
from feedline.words.engine.config import Config
from feedline.words.engine.kinds import Rates, Tally
from feedline.words.engine.simd import TILE, WIDTH
from feedline.words.engine.tables import Tables, make
from feedline.words.engine.tile import blank_signs, loss_of, new_tally, noise_signs
from feedline.words.engine.weights import (
    GloveWeights,
    Weights,
    depth_of,
    fresh,
    fresh_glove,
)

name = "cpu"
width = WIDTH


def block(
    tables: Tables,
    weights: Weights,
    tokens: NDArray[np.int32],
    seed: int,
    rates: Rates,
) -> Tally:
    """Train on one block of tokens."""
    config = tables.config
    tokens = _read_only(tokens)
    # As the kernels take them: they differ in what they need of it.
    x, y = weights.inputs.reshape(-1), weights.outputs.reshape(-1)
    rows = (x, y, weights.stride, depth_of(config.dim, WIDTH))
    sizes = (config.window, config.negative)
    draws = (tables.keep, tables.noise, *sizes, np.uint64(seed))
    tally = new_tally()
    tree = config.loss == "hs"
    longest = -(-tables.longest_path // TILE)
    paths = (tables.path_offsets, tables.path_nodes, tables.path_codes, longest)
    signs = blank_signs(longest + 1) if tree else noise_signs(config.negative)
    work = (signs, rates.start, rates.slope, rates.floor, tally)
    if config.model == "skipgram" and not config.subwords:
        if tree:
            examples, kept = skipgram.with_tree(tokens, rows, draws, paths, work)
        else:
            examples, kept = skipgram.with_noise(tokens, rows, draws, work)
    else:
        kernel = bag.cbow if config.model == "cbow" else bag.subwords
        grams = (tables.gram_offsets, tables.gram_ids, tables.widest_bag)
        examples, kept = kernel(tokens, rows, draws, paths, grams, work)
    return Tally(loss_of(tally), int(examples), int(kept))


def warm_up(config: Config) -> None:
    """Compile what a config needs: seconds, and only the first time on a machine."""
    small = replace(config, dim=1, bucket=1, threads=1)
    if config.model == "glove":
        logs = np.zeros(1, np.float32)
        glove(small, fresh_glove(small, 2), np.zeros((1, 2), np.int32), logs)
        return
    tables = make(small, ("a", "b"), np.array([2, 1]))
    weights = fresh(small, tables.input_rows, tables.output_rows, WIDTH)
    block(tables, weights, np.array([0, 1], np.int32), 0, Rates(0.1, 0.0, 0.0))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view as of mapped memory: one type for the kernels, so one compilation."""
    view: NDArray[Any] = array.view()
    view.flags.writeable = False
    return view


def glove(
    config: Config,
    weights: GloveWeights,
    pairs: NDArray[np.int32],
    logs: NDArray[np.float32],
) -> Tally:
    """Train on one block of co-occurrences."""
    loss, steps = glove_kernel.block(
        _read_only(pairs),
        _read_only(logs),
        *(matrix.reshape(-1) for matrix in weights.matrices()),
        weights.inputs.shape[1],
        depth_of(config.dim, WIDTH),
        weights.bias,
        np.float32(np.log(config.x_max)),
        np.float32(config.power),
        np.float32(config.eta),
    )
    return Tally(float(loss), int(steps))
