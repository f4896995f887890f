"""Several steps in one launch: what they leave is what single steps leave."""

from __future__ import annotations

import numpy as np
import pytest

from feedline.fixes.means.own_step.graph_step import OwnStep
from feedline.fixes.means.own_step.multi_step import MultiStep
from feedline.fixes.means.own_step.step_only_loop import StepOnlyLoop
from feedline.job.loops.feeds import Ring
from feedline.job.loops.loop import CannotRun
from feedline.prove.weights import compare_together

pytestmark = pytest.mark.tensorflow
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

RATE = 0.5
FIRST = tf.Variable(0.0)
SEEN = tf.Variable(0)


@pytest.fixture(autouse=True)
def nobody_catches(monkeypatch):
    """Pytest changes the code of tests: nobody can tell where it has a `try`."""
    monkeypatch.setattr(
        "feedline.fixes.means.own_step.graph_step.caught", lambda _: False
    )
    monkeypatch.setattr(
        "feedline.fixes.means.own_step.multi_step.caught", lambda _: False
    )


def weigh(x):
    """Every batch leaves its mark, in its order."""
    FIRST.assign(FIRST * RATE + tf.reduce_sum(x))
    SEEN.assign_add(tf.shape(x)[0])


@tf.function
def compiled(x):
    weigh(x)
    return FIRST.read_value()


def compiled_body(x):
    compiled(x)


def eager_body(x):
    weigh(x)


def drawing_body(x):
    weigh(x + tf.random.uniform([]))


def one_by_one(dataset, body):
    seen = []
    for x in dataset:
        body(x)
        seen.append(x)
    return seen


def together(dataset, steps):
    """As the loop of a script would."""
    seen, iterator = [], iter(dataset)
    while True:
        try:
            x = steps.next(iterator)
        except StopIteration:
            break
        steps.one(x)
        seen.append(x)
    with pytest.raises(StopIteration):
        steps.next(iterator)
    return seen


def left():
    values = (FIRST.numpy().tobytes(), int(SEEN))
    FIRST.assign(0.0)
    SEEN.assign(0)
    return values


def loop_over(body, **more):
    return StepOnlyLoop(lambda element: (element,), body, direct=True, **more)


def numbers(count, batch=4):
    return (
        tf.data.Dataset.range(count).map(lambda n: tf.cast(n, tf.float32)).batch(batch)
    )


@pytest.fixture(autouse=True)
def _fresh():
    left()
    yield
    left()


@pytest.mark.parametrize("count", [0, 1, 4, 5, 8, 12, 13, 40, 43])
@pytest.mark.parametrize("number", [2, 3, 64])
def test_all_batches_in_their_order_and_the_last_one_for_python(count, number):
    expected = one_by_one(numbers(count), compiled_body)
    was = left()
    steps = MultiStep(loop_over(compiled_body), number)
    for _ in range(2):
        seen = together(numbers(count), steps)
        assert left() == was
        if expected:
            np.testing.assert_array_equal(seen[-1], expected[-1])
    assert steps.broken == ""
    if count >= 40:
        assert len(seen) < len(expected)
        assert steps.ran == 2 * (len(expected) - len(seen))


def test_batches_of_other_shapes_go_one_by_one():
    shapes = [2, 2, 3, 2, 2, 2, 1]
    data = tf.data.Dataset.from_generator(
        lambda: (np.full(n, n, np.float32) for n in shapes),
        output_signature=tf.TensorSpec([None]),
    )
    one_by_one(data, compiled_body)
    was = left()
    together(data, MultiStep(loop_over(compiled_body), 8))
    assert left() == was


def test_shapes_without_end_end_it():
    data = tf.data.Dataset.range(1, 20).map(lambda n: tf.ones([n]))
    one_by_one(data, compiled_body)
    was = left()
    steps = MultiStep(loop_over(compiled_body), 4)
    together(data, steps)
    assert left() == was
    assert "shapes of its batches keep changing" in steps.broken


def test_a_change_of_what_it_uses_ends_it():
    told = []
    steps = MultiStep(loop_over(eager_body), 4)
    steps.tell = told.append
    iterator = iter(numbers(40, 2))
    steps.one(steps.next(iterator))
    assert steps.ran == 3
    globals()["RATE"] = 0.25
    try:
        while True:
            steps.one(steps.next(iterator))
    except StopIteration:
        pass
    finally:
        globals()["RATE"] = 0.5
    assert told == ["the script has changed RATE"]
    assert steps.ran == 3
    assert left()[1] == 40


def test_an_error_of_the_input_is_the_scripts_own():
    steps = MultiStep(loop_over(compiled_body), 8)
    data = numbers(40).map(lambda x: tf.ensure_shape(x, [4]))
    data = data.map(lambda x: tf.debugging.check_numerics(20.0 / (x - 20.0), "zero"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="zero"):
        together_seen(steps, data)


def test_what_may_not_go_together():
    with pytest.raises(CannotRun, match="does not read a dataset itself"):
        MultiStep(StepOnlyLoop(lambda x: (x,), compiled_body), 4)
    ragged = tf.data.Dataset.range(8).map(tf.range).ragged_batch(2)
    steps = MultiStep(loop_over(compiled_body), 4)
    assert len(together_seen(steps, ragged)) == 4
    assert "ragged or sparse" in steps.broken
    steps = MultiStep(loop_over(drawing_body), 4)
    assert len(together_seen(steps, numbers(16))) == 4
    assert "draws random numbers" in steps.broken


def together_seen(steps, data):
    iterator, seen = iter(data), []
    try:
        while True:
            seen.append(steps.next(iterator))
    except StopIteration:
        return seen


def test_another_run_of_the_same_loop_is_another_loop():
    bare = loop_over(compiled_body)
    steps = MultiStep(bare, 4)
    bare.unchanged = lambda: False
    assert len(together_seen(steps, numbers(16))) == 4
    assert steps.broken


@pytest.mark.parametrize("fused", [False, True])
def test_a_step_that_python_runs_is_a_graph_in_it(fused):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build(model.trainable_variables)
    variables = model.trainable_variables

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - 1.0) ** 2)
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    def body(x):
        step(x)

    own = OwnStep(step.__code__)
    own.on, own.fused = True, fused
    try:
        rng = np.random.default_rng(0)
        batches = [tf.constant(rng.random((4, 3)), tf.float32) for _ in range(6)]
        steps = MultiStep(loop_over(body), 6, own)
        found = compare_together(steps, Ring(batches), tf.TensorSpec([None, 3]))
        assert found.steps == 6
        assert found.equal or (fused and found.largest < 1e-5)
        assert steps.ran >= 5
    finally:
        own.remove()


def test_too_little_to_compare():
    steps = MultiStep(loop_over(compiled_body), 4)
    with pytest.raises(CannotRun, match="too few"):
        compare_together(steps, Ring([tf.ones([4])]), None)
