"""Optimizers with moments: touched rows as Keras has them, the others wait."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from tests.rows.build import (
    LAZY,
    OPTIMIZERS,
    SEEN,
    WAYS,
    WIDTH,
    WORDS,
    assert_close,
    assert_same,
    batches,
    both,
    classifier,
    every_word,
    state,
    train,
)

from feedline.rows import CannotInstall, install

pytestmark = pytest.mark.tensorflow


def tables(model):
    """The table and its slots."""
    return [value for value in state(model) if value.shape == (WORDS, WIDTH)]


@pytest.mark.parametrize("name", LAZY)
def test_first_step_is_keras_own_on_the_touched_rows(name):
    def make():
        return classifier(OPTIMIZERS[name](), run_eagerly=name != "adam")

    start = tables(make())[0]
    data = batches(1)
    plain, ours, installed = both(make, data)
    assert not installed.exact
    assert installed.difference
    touched = np.unique(data[0][0])
    for mine, dense in zip(tables(ours), tables(plain), strict=True):
        np.testing.assert_array_equal(mine[touched], dense[touched])
    untouched = np.setdiff1d(np.arange(WORDS), touched)
    np.testing.assert_array_equal(tables(ours)[0][untouched], start[untouched])
    for slot in tables(ours)[1:]:
        assert not slot[untouched].any()


@pytest.mark.parametrize(
    ("name", "way"),
    [
        *[(name, "eager") for name in LAZY],
        ("adam", "graph"),
        ("adamw", "xla"),
        *[
            pytest.param(name, way, marks=pytest.mark.slow)
            for name in LAZY
            for way in ("graph", "xla")
            if (name, way) not in (("adam", "graph"), ("adamw", "xla"))
        ],
    ],
)
def test_with_every_row_touched_it_is_the_dense_optimizer(name, way):
    plain, ours, _ = both(
        lambda: classifier(OPTIMIZERS[name](), **WAYS[way]), every_word()
    )
    assert_close(state(ours), state(plain))
    assert ours.optimizer.iterations == len(every_word())


@pytest.mark.parametrize("name", ["adam", "momentum"])
def test_untouched_rows_keep_value_and_moments(name):
    ours = classifier(OPTIMIZERS[name]())
    install(ours)
    train(ours, every_word(1))
    before = tables(ours)
    train(ours, batches(2))
    named = np.unique([x for x, _ in batches(2)])
    for old, new in zip(before, tables(ours), strict=True):
        np.testing.assert_array_equal(old[SEEN:], new[SEEN:])
        assert (old[named] != new[named]).any(axis=1).all()


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("sgd", "graph"),
        ("adam", "eager"),
        pytest.param("adam", "xla", marks=pytest.mark.slow),
        pytest.param("sgd", "xla", marks=pytest.mark.slow),
    ],
)
def test_global_clipnorm_is_that_of_keras(name, way):
    plain, ours, installed = both(
        lambda: classifier(OPTIMIZERS[name](global_clipnorm=0.01), **WAYS[way]),
        every_word(),
    )
    assert not installed.exact
    assert installed.dense == ()
    assert_close(state(ours), state(plain))


@pytest.mark.parametrize("more", [{"clipnorm": 0.01}, {"clipvalue": 0.001}], ids=str)
def test_clipping_is_that_of_keras(more):
    plain, ours, _ = both(lambda: classifier(OPTIMIZERS["adam"](**more)), every_word())
    assert_close(state(ours), state(plain))


@pytest.mark.parametrize("excluded", [False, True])
def test_weight_decay_reaches_touched_rows_and_honours_exclusions(excluded):
    def make():
        optimizer = keras.optimizers.AdamW(0.01, weight_decay=0.5)
        if excluded:
            optimizer.exclude_from_weight_decay(var_names=["embeddings"])
        return classifier(optimizer, run_eagerly=excluded)

    start = tables(make())[0]
    data = batches(1)
    plain, ours, _ = both(make, data)
    touched = np.unique(data[0][0])
    np.testing.assert_array_equal(tables(ours)[0][touched], tables(plain)[0][touched])
    np.testing.assert_array_equal(tables(ours)[0][SEEN:], start[SEEN:])
    assert (tables(plain)[0][SEEN:] == start[SEEN:]).all() == excluded
    assert_same(state(ours)[1:3], state(plain)[1:3])  # The dense layer decays.


def test_lazy_optimizers_are_refused_where_exact_is_asked():
    model = classifier(OPTIMIZERS["adam"]())
    with pytest.raises(CannotInstall, match="moments wait"):
        install(model, lazy=False)
    for more in ({"weight_decay": 0.1}, {"global_clipnorm": 1.0}):
        with pytest.raises(CannotInstall, match="not bit for bit"):
            install(classifier(OPTIMIZERS["sgd"](**more)), lazy=False)
    assert "call" not in vars(model.layers[0])


def test_goes_on_densely_after_remove():
    """What lazy training left behind is a state like any other."""
    ours, other = (classifier(OPTIMIZERS["adam"]()) for _ in range(2))
    with install(ours):
        train(ours, batches(3))
    train(other, batches(1))  # Builds the optimizer.
    for target, value in zip(
        [*other.weights, *other.optimizer.variables], state(ours), strict=True
    ):
        target.assign(value)
    train(ours, batches(2, seed=5))
    train(other, batches(2, seed=5))
    assert_same(state(ours), state(other))
