"""Mixed precision: rows are looked up in half, and kept and updated in float32."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from tests.rows.build import (
    OPTIMIZERS,
    WAYS,
    assert_close,
    assert_same,
    batches,
    classifier,
    every_word,
    state,
    train,
)

from feedline.rows import install

pytestmark = pytest.mark.tensorflow


def pair(make, data, lazy):
    plain, ours = make(), make()
    installed = install(ours, lazy=lazy)
    train(plain, data)
    train(ours, data)
    return plain, ours, installed


@pytest.mark.parametrize(
    "policy", ["mixed_bfloat16", pytest.param("bfloat16", marks=pytest.mark.slow)]
)
def test_bfloat16(policy):
    plain, ours, _ = pair(
        lambda: classifier(OPTIMIZERS["adagrad"](), dtype=policy), batches(2), False
    )
    assert_same(state(ours), state(plain))


@pytest.mark.parametrize("way", ["graph", pytest.param("xla", marks=pytest.mark.slow)])
def test_loss_scale(way):
    """Keras puts a LossScaleOptimizer around the given one by itself."""

    def make():
        optimizer = keras.optimizers.LossScaleOptimizer(
            OPTIMIZERS["adam"](), initial_scale=2.0**10, dynamic_growth_steps=2
        )
        return classifier(optimizer, dtype="mixed_float16", **WAYS[way])

    plain, ours, installed = pair(make, every_word(), True)
    assert installed.tables == ("words",)
    assert installed.optimizer is ours.optimizer
    assert ours.layers[0].embeddings.dtype == "float32"
    assert_close(state(ours), state(plain))


def test_a_step_that_is_not_finite_is_skipped_as_by_keras():
    def make():
        optimizer = keras.optimizers.LossScaleOptimizer(OPTIMIZERS["sgd"]())
        return classifier(optimizer, dtype="mixed_float16")

    x, y = batches(1)[0]
    broken = (x, np.where(y > 0, np.inf, y).astype("float32"))
    plain, ours, installed = pair(make, [(x, y), broken, (x, y)], False)
    assert installed.exact
    assert_same(state(ours), state(plain))
    assert np.isfinite(state(ours)[0]).all()
