"""The CPU engine agrees with the reference within rounding, whatever the options."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.words.engine import cpu, reference, simd, tables
from feedline.words.engine.config import Config
from feedline.words.engine.kinds import Rates
from feedline.words.engine.weights import compact, fresh, fresh_glove, stride_of

WORDS = 60


def text(seed: int, size: int = 400) -> np.ndarray:
    """Ids as text has them: few words often, many seldom, sentences of any length."""
    draw = np.random.default_rng(seed)
    share = 1 / np.arange(1, WORDS + 1)
    ids = draw.choice(WORDS, size, p=share / share.sum()).astype(np.int32)
    ids[draw.random(size) < 0.08] = -1
    return ids


def both(tokens: np.ndarray, seed: int, **options):
    """The same block by both engines, from the same start."""
    config = Config.of(**{"threads": 1, "sample": 1e-2, "bucket": 97, **options})
    counts = np.bincount(tokens[tokens >= 0], minlength=WORDS)
    names = tuple(f"word{i}" for i in range(WORDS))
    look_up = tables.make(config, names, counts)
    ends = []
    for engine in (reference, cpu):
        weights = fresh(config, look_up.input_rows, look_up.output_rows, engine.width)
        start = np.random.default_rng(2).normal(0, 0.2, (WORDS, config.dim))
        weights.outputs[:WORDS, : config.dim] = start
        tally = engine.block(look_up, weights, tokens, seed, Rates(0.05, 1e-5, 0.01))
        ends.append((weights, tally))
    return config.dim, *ends


def assert_same(dim, slow, fast):
    for name in ("inputs", "outputs"):
        wanted = getattr(slow[0], name)[:, :dim]
        found = getattr(fast[0], name)[:, :dim]
        assert found == pytest.approx(wanted, rel=1e-3, abs=2e-5)
        padding = getattr(fast[0], name)[:, dim:]
        assert not padding.any()
        assert not getattr(fast[0], name)[-1].any()
    assert fast[1].examples == slow[1].examples
    assert fast[1].kept == slow[1].kept
    assert fast[1].loss == pytest.approx(slow[1].loss, rel=1e-5)


OPTIONS = (
    st.integers(0, 2**32),
    st.sampled_from(["skipgram", "cbow"]),
    st.sampled_from(["ns", "hs"]),
    st.sampled_from([(0, 0), (2, 3)]),
    st.integers(1, 40),
    st.integers(1, 8),
    st.integers(1, 14),
)


def same_by_both(seed, model, loss, grams, dim, window, negative):
    ends = both(
        text(seed),
        seed,
        model=model,
        loss=loss,
        min_n=grams[0],
        max_n=grams[1],
        dim=dim,
        window=window,
        negative=negative,
    )
    assert_same(*ends)


@settings(max_examples=10, deadline=None)
@given(*OPTIONS)
def test_same_as_the_reference(seed, model, loss, grams, dim, window, negative):
    same_by_both(seed, model, loss, grams, dim, window, negative)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(*OPTIONS)
def test_same_as_the_reference_hundreds_of_times(
    seed, model, loss, grams, dim, window, negative
):
    same_by_both(seed, model, loss, grams, dim, window, negative)


def test_same_where_a_sentence_is_longer_than_the_buffer():
    tokens = np.random.default_rng(4).integers(0, WORDS, 2500).astype(np.int32)
    assert_same(*both(tokens, 7, dim=4, sample=0.0))


@pytest.mark.parametrize(
    "tokens", [[], [-1], [0], [3, -1], [-1, -1, 5, -1], [1, 1, 1, 1], [2, 3]]
)
@pytest.mark.parametrize("model", ["skipgram", "cbow"])
def test_next_to_nothing(tokens, model):
    ends = both(np.array(tokens, np.int32), 1, model=model, dim=5, sample=0.0)
    assert_same(*ends)


def test_glove_is_the_same_as_the_reference():
    config = Config.of(model="glove", dim=13, x_max=5.0, threads=1)
    draw = np.random.default_rng(5)
    pairs = np.sort(draw.integers(0, 20, (300, 2)).astype(np.int32), axis=1)
    logs = draw.normal(1, 1, 300).astype(np.float32)
    slow, fast = fresh_glove(config, 20), fresh_glove(config, 20)
    expected = reference.glove(config, slow, pairs, logs)
    found = cpu.glove(config, fast, pairs, logs)
    for wanted, got in zip(slow.matrices(), fast.matrices(), strict=True):
        assert got == pytest.approx(wanted, rel=1e-4, abs=1e-5)
    assert found.examples == expected.examples
    assert found.loss == pytest.approx(expected.loss, rel=1e-4)


def test_sigmoid_is_exact_enough():
    from numba import njit

    @njit
    def run(numbers, out):
        for i in range(0, numbers.size, simd.WIDTH):
            simd.store(out, i, simd.sigmoid(simd.load(numbers, i)))

    numbers = np.linspace(-50, 50, 1600, dtype=np.float32)
    out = np.empty_like(numbers)
    run(numbers, out)
    exact = 1 / (1 + np.exp(-np.clip(numbers.astype(np.float64), -40, 40)))
    assert out == pytest.approx(exact, rel=4e-6)


@pytest.mark.parametrize("dim", [1, 8, 20, 50, 100, 200, 300, 301])
def test_rows_waste_little_and_come_together_again(dim):
    stride = stride_of(dim)
    assert stride >= dim
    assert stride - dim < 16
    if dim >= 50:
        assert stride <= 1.125 * dim
    matrix = np.zeros((6, stride), np.float32)
    matrix[:, :dim] = np.arange(6 * dim).reshape(6, dim)
    wanted = matrix[:5, :dim].copy()
    assert np.array_equal(compact(matrix, 5, dim), wanted)
