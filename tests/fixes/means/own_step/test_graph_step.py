"""A step of the script's own as a graph: the same, or left alone."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from feedline.fixes.means.own_step.graph_step import OwnStep
from feedline.job.loops.loop import CannotRun
from feedline.prove.weights import compare_own

pytestmark = pytest.mark.tensorflow
keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")

BATCH = (tf.ones([4, 3]), tf.ones([4, 1]))
HISTORY: list[float] = []
NUMBERS = np.ones(3, "float32")
SCALE = 0.5
VARIABLES: list[object] = []
MADE: list[OwnStep] = []


@pytest.fixture(autouse=True)
def nobody_catches(monkeypatch):
    """Pytest changes the code of tests: nobody can tell where it has a `try`."""
    monkeypatch.setattr(
        "feedline.fixes.means.own_step.graph_step.caught", lambda _: False
    )


class Twice(keras.layers.Layer):
    def call(self, x):
        return x + x


class Counting(keras.layers.Layer):
    seen = 0

    def call(self, x):
        self.seen += 1
        return x


class Model(keras.Model):
    def __init__(self, inner):
        super().__init__()
        self.inner, self.last = inner, keras.layers.Dense(1)

    def call(self, x, training=False):
        return self.last(self.inner(x, training=training))


class Trainer:
    weight = 0.5

    def __init__(self, model):
        self.model = model
        self.optimizer = keras.optimizers.Adam(0.01)
        self.loss = keras.losses.MeanSquaredError()
        self.metric = keras.metrics.Mean()

    def loss_of(self, x, y):
        return self.weight * self.loss(y, self.model(x, training=True))

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss_of(x, y)
        variables = self.model.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        self.metric.update_state(loss)
        return {"loss": loss, "mean": self.metric.result()}


def two_units():
    return keras.layers.Dense(2)


def half_dropped():
    return keras.layers.Dropout(0.5, seed=3)


def trained_with(*layers):
    keras.utils.set_random_seed(1)
    made = [make() for make in layers]
    model = keras.Sequential([keras.Input((3,)), *made, keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build(model.trainable_variables)
    return model, optimizer


def plain(*layers):
    """A step in a closure, its model, and its default."""
    gc.collect()  # those of other tests share its code
    model, optimizer = trained_with(*layers)

    def step(x, y, *, half=True):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2) * SCALE
            if half:
                loss = loss / 2
        gradients = tape.gradient(loss, model.trainable_variables)
        pairs = []
        for gradient, variable in zip(
            gradients, model.trainable_variables, strict=True
        ):
            pairs.append((gradient, variable))
        optimizer.apply_gradients(pairs)
        return loss

    return step, model


def weights(model):
    return [variable.numpy() for variable in model.variables]


def recorded(step, *args, times=3):
    """Called some times as it is, with all calls remembered."""
    own = own_step(step)
    own.recording = True
    for _ in range(times):
        step(*args)
    return own


@pytest.fixture(autouse=True)
def alone():
    """A function has its own code back after the test."""
    yield
    while MADE:
        MADE.pop().remove()


def own_step(function):
    MADE.append(OwnStep(function.__code__))
    return MADE[-1]


def trained(do, *layers):
    """What `do(step, model)` leaves, the step run by Python."""
    step, model = plain(*layers)
    given = do(step, model)
    return given, weights(model)


def test_the_function_stays_the_same_object_and_can_be_had_back():
    step, _ = plain()
    code = step.__code__
    own = own_step(step)
    assert step.__code__ is not code
    assert float(step(*BATCH, half=False)) > float(step(*BATCH))
    MADE.remove(own)
    own.remove()
    assert step.__code__ is code


def test_as_a_graph_it_trains_the_same_weights():
    def some_steps(step, _):
        return [float(step(*BATCH)) for _ in range(5)]

    losses, expected = trained(some_steps, Twice)
    step, model = plain(Twice)
    own = own_step(step)
    own.on = True
    assert some_steps(step, model) == losses
    assert own.broken == ""
    assert own.graph_function.experimental_get_tracing_count() == 1
    for a, b in zip(expected, weights(model), strict=True):
        assert a.tobytes() == b.tobytes()


def test_fused_it_trains_nearly_the_same_weights():
    step, model = plain(Twice)
    own = recorded(step, *BATCH)
    before = weights(model)
    assert compare_own(own, fused=True).largest < 1e-5
    for a, b in zip(before, weights(model), strict=True):
        assert a.tobytes() == b.tobytes()
    own.on = own.fused = True
    assert np.isfinite(float(step(*BATCH)))
    assert own.broken == ""
    assert not np.array_equal(before[0], weights(model)[0])


class Spelled(keras.layers.Layer):
    """XLA knows no text."""

    def call(self, x):
        length = tf.strings.length(tf.strings.as_string(tf.round(x[0, 0])))
        return x * tf.cast(length, x.dtype)


def test_what_xla_cannot_compile_runs_as_it_is():
    def some_steps(step, _):
        return [float(step(*BATCH)) for _ in range(3)]

    losses, _ = trained(some_steps, Spelled)
    step, model = plain(Spelled)
    own = own_step(step)
    told = []
    own.tell = told.append
    own.on = own.fused = True
    assert some_steps(step, model) == losses
    assert len(told) == 1
    assert told[0].startswith("XLA: ")


def test_the_comparison_changes_nothing():
    step, model = plain(half_dropped)
    own = recorded(step, *BATCH)
    before = weights(model)
    found = compare_own(own)
    assert found.equal
    assert found.steps == 3
    for a, b in zip(before, weights(model), strict=True):
        assert a.tobytes() == b.tobytes()


def test_a_method_of_an_object_of_ones_own():
    keras.utils.set_random_seed(1)
    trainer = Trainer(Model(keras.Sequential([Twice(), keras.layers.Dense(4)])))
    trainer.step(*BATCH)
    own = own_step(Trainer.step)
    own.recording = True
    trainer.step(*BATCH)
    assert compare_own(own).equal
    own.on = True
    assert set(trainer.step(*BATCH)) == {"loss", "mean"}
    assert own.broken == ""
    trainer.weight = 2.0
    trainer.step(*BATCH)
    assert "changed" in own.broken


def freeze(model):
    model.layers[0].trainable = False


def drop_more(model):
    model.layers[0].rate = 0.9


@pytest.mark.parametrize(
    ("change", "layer", "what"),
    [
        (freeze, two_units, "Dense.trainable"),
        (drop_more, half_dropped, "Dropout.rate"),
    ],
)
def test_what_the_script_switches_later_is_followed(change, layer, what):
    def changed_half_way(step, model):
        for number in range(4):
            if number == 2:
                change(model)
            step(*BATCH)

    _, expected = trained(changed_half_way, layer)
    step, model = plain(layer)
    own = own_step(step)
    said = []
    own.on, own.tell = True, said.append
    changed_half_way(step, model)
    assert said == [f"the script has changed {what}"]
    for a, b in zip(expected, weights(model), strict=True):
        assert a.tobytes() == b.tobytes()


def test_python_numbers_and_arrays_are_left_to_python():
    def step(x, factor):
        return x * factor

    own = own_step(step)
    own.on = True
    assert step(tf.ones([2]), 3).numpy().tolist() == [3, 3]
    assert step(np.ones(2), 3).tolist() == [3, 3]
    assert own.graph_function is None
    assert own.broken == ""


def test_a_new_shape_gets_a_graph_of_its_own_but_not_for_ever():
    def step(x):
        return tf.reduce_sum(x) / x.shape[0]

    own = own_step(step)
    own.on = True
    for length in range(1, 20):
        assert step(tf.ones([length])).numpy() == 1.0
    assert "shapes" in own.broken


def prints(x):
    print("hello")
    return x


def remembers(x):
    HISTORY.append(1.0)
    return x


def counts(x):
    global SCALE  # noqa: PLW0603
    SCALE += 1
    return x


def reads(x):
    return x * float(tf.reduce_sum(x).numpy())


def draws(x):
    return x + tf.random.uniform([4])


def looks_it_up(x):
    return x * NUMBERS[0]


def tries(x):
    try:
        return x + 1
    except ValueError:
        return x


def runs_eagerly(x):
    return x if tf.executing_eagerly() else -x


def calls_python(x):
    return tf.py_function(lambda y: y, [x], tf.float32)


def renames(x):
    held = VARIABLES
    held.append(x)
    return x


def gives_a_number(x):
    tf.reduce_sum(x)
    return 1.0


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (prints, "print"),
        (remembers, "HISTORY"),
        (counts, "SCALE"),
        (reads, "numpy"),
        (draws, "random"),
        (looks_it_up, "NUMBERS"),
        (tries, "try"),
        (runs_eagerly, "executing_eagerly"),
        (calls_python, "py_function"),
        (renames, "VARIABLES"),
        (gives_a_number, "kind"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_what_may_mean_something_else_is_left_alone(step, why):
    own = own_step(step)
    own.calls.append(((tf.ones([4]),), {}))
    with pytest.raises(CannotRun, match=why):
        compare_own(own)


def test_a_layer_that_keeps_count_is_left_alone():
    step, _ = plain(Counting)
    own = recorded(step, *BATCH)
    with pytest.raises(CannotRun, match=r"self\.seen"):
        compare_own(own)


def test_one_code_with_several_functions_is_left_alone():
    steps = [plain() for _ in range(2)]
    with pytest.raises(CannotRun, match="2 times"):
        own_step(steps[0][0])
