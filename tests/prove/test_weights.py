"""Two steps train the same weights, bit for bit, or they do not."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from feedline.job.loops.snapshot import variables_of
from feedline.prove.weights import compare

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore::UserWarning:keras"),
]


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dropout(0.5), keras.layers.Dense(2)]
    )
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(batches(), steps_per_epoch=2, verbose=0)
    return model


def batches():
    rng = np.random.default_rng(0)
    x = rng.random((16, 4), np.float32)
    return tf.data.Dataset.from_tensor_slices((x, x[:, :2])).batch(4).repeat()


def step(model, change=lambda variables: None, per_call=1):
    """`per_call` of the model's steps, then a change."""

    def call(iterator):
        for _ in range(per_call):
            model.train_function(iterator)
        change(variables_of(model))

    return call, per_call


def test_the_same_step(model):
    found = compare(model, step(model), step(model), batches(), 4)
    assert (found.equal, found.steps, found.largest) == (True, 4, 0.0)


def test_several_steps_in_one_call(model):
    found = compare(model, step(model), step(model, per_call=2), batches(), 4)
    assert found.equal


def nudge(variables):
    kernel = next(v for v in variables if v.shape == (4, 2))
    value = kernel.numpy()
    value[0, 0] = np.nextafter(value[0, 0], np.float32(9))
    kernel.assign(value)


def count(variables):
    next(v for v in variables if v.dtype == "int64" or "iter" in v.name).assign_add(1)


@pytest.mark.parametrize("change", [nudge, count])
def test_the_last_bit_of_any_variable(model, change):
    found = compare(model, step(model), step(model, change), batches(), 4)
    assert not found.equal
    assert 0 <= found.largest < 1


def test_how_far_apart_they_are(model):
    def double(variables):
        kernel = next(v for v in variables if v.shape == (4, 2))
        kernel.assign(kernel * 2)

    found = compare(model, step(model), step(model, double), batches(), 1)
    assert not found.equal
    assert 0.5 < found.largest < 2


def test_weights_that_are_no_numbers(model):
    def spoil(variables):
        kernel = next(v for v in variables if v.shape == (4, 2))
        kernel.assign(kernel * np.nan)

    assert not compare(model, step(model), step(model, spoil), batches(), 1).equal
    assert compare(model, step(model, spoil), step(model, spoil), batches(), 1).equal


def test_the_model_is_as_it_was(model):
    before = [variable.numpy().copy() for variable in variables_of(model)]
    compare(model, step(model), step(model, nudge), batches(), 4)

    def breaks(variables):
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        compare(model, step(model), step(model, breaks), batches(), 4)
    after = [variable.numpy() for variable in variables_of(model)]
    for was, now in zip(before, after, strict=True):
        np.testing.assert_array_equal(was, now)


def test_they_are_compared_as_they_will_run(model, monkeypatch):
    """Deterministic operations are others than those that the job runs."""
    from feedline.job.private.tensorflow import config

    def refuse():
        raise AssertionError("the job does not run so")

    monkeypatch.setattr(config, "enable_op_determinism", refuse)
    same = compare(model, step(model), step(model), batches(), 4)
    other = compare(model, step(model), step(model, nudge), batches(), 4)
    assert (same.equal, same.repeats) == (True, True)
    assert (other.equal, other.repeats) == (False, True)


def test_a_step_that_does_not_repeat_itself_is_told_of(model):
    count = iter(range(100))

    def drift(variables):
        kernel = next(v for v in variables if v.shape == (4, 2))
        kernel.assign(kernel + float(next(count)))

    found = compare(model, step(model, drift), step(model), batches(), 4)
    assert (found.equal, found.repeats) == (False, False)
