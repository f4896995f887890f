"""Why a `tf.function` was traced again."""

from __future__ import annotations

import pytest

from feedline.job.loops.retraces import reason

tf = pytest.importorskip("tensorflow")


@tf.function
def step(batch, scale):
    return batch * scale


@pytest.mark.tensorflow
def test_the_argument_that_changes_is_named_and_how() -> None:
    assert reason(step) == ""
    step(tf.ones([3]), 2.0)
    assert reason(step) == ""
    step(tf.ones([4]), 2.0)
    assert reason(step).startswith("argument 'batch' is a tensor of another shape")
    assert "float32(3,), float32(4,)" in reason(step)
    assert "'scale'" not in reason(step)
    step(tf.ones([3]), 7.0)
    assert "argument 'scale' is another Python value" in reason(step)
    assert "2.0, 7.0" in reason(step)


@tf.function
def nested(batch):
    return batch["x"][1] * 2


@pytest.mark.tensorflow
def test_a_part_of_an_argument_is_named() -> None:
    for length in (3, 4):
        nested({"x": [tf.ones([2]), tf.ones([length])]})
    found = reason(nested)
    assert found.startswith("argument \"batch['x'][1]\" is a tensor of another shape")
    assert "float32(3,), float32(4,)" in found
    assert "[0]" not in found


def test_what_is_no_function_of_tensorflow_has_no_reason() -> None:
    assert reason(None) == ""
    assert reason(len) == ""
