"""`feedline.why(model, dataset)` leaves model, dataset and dice as they were.

Time goes by whenever it looks at its clock: what it tries, and when it has enough,
does not depend on the machine. The slow tests let it measure.
"""

from __future__ import annotations

import random

import keras
import numpy as np
import pytest
import tensorflow as tf

import feedline
from feedline.errors import FeedlineError
from feedline.job.loops.snapshot import variables_of
from feedline.measure.clock import SystemClock
from feedline.session.inprocess import _build
from tests.clock import FakeClock

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore::UserWarning:keras"),
]
SLOW = pytest.mark.slow


class TickingClock(FakeClock):
    def now(self) -> float:
        self.time += 0.03
        return self.time

    def cpu(self) -> float:
        self.cpu_time += 0.03
        return self.cpu_time


@pytest.fixture(autouse=True)
def _ticking(monkeypatch):
    monkeypatch.setattr("feedline.session.inprocess.SystemClock", TickingClock)


def make_model() -> keras.Model:
    keras.utils.set_random_seed(5)
    model = keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Embedding(50, 4),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.5),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse", metrics=["mae"])
    return model


def make_dataset(seed: int | None = 3) -> tf.data.Dataset:
    data = tf.data.Dataset.range(64).shuffle(64, seed=seed)
    return data.map(lambda n: (tf.fill([6], n % 50), tf.cast(n, tf.float32))).batch(8)


def values(model: keras.Model) -> list[np.ndarray]:
    return [variable.numpy().copy() for variable in variables_of(model)]


@pytest.fixture(
    scope="module",
    params=[(TickingClock, 30), pytest.param((SystemClock, 3), marks=SLOW)],
    ids=["ticking", "measuring"],
)
def looked_at(request):
    """A model that has trained, what it was before, and the report."""
    clock, seconds = request.param
    model, dataset = make_model(), make_dataset()
    model.fit(dataset, epochs=2, verbose=0)
    before, function = values(model), model.train_function
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("feedline.session.inprocess.SystemClock", clock)
        report = feedline.why(model, dataset, seconds=seconds)
    return model, before, function, report


def test_it_gives_a_report(looked_at):
    report = looked_at[-1]
    assert report.step.observed_ms > 0
    assert sum(report.shares.values()) == pytest.approx(1)
    assert [stage.name for stage in report.stages][:2] == ["range()", "shuffle(64)"]


def test_a_capture_of_some_steps_comes_with_it(looked_at):
    report = looked_at[-1]
    assert report.trace.steps >= 3
    assert sum(part.share for part in report.trace.parts) == pytest.approx(1, abs=0.01)
    assert report.timeline.rows[0].lane == "step"
    assert report.proof is None


def test_every_variable_is_as_it_was(looked_at):
    model, before, function, _ = looked_at
    after = values(model)
    assert len(after) == len(before)
    for was, now in zip(before, after, strict=True):
        np.testing.assert_array_equal(was, now)
    assert model.train_function is function
    assert int(model.steps_per_execution) == 1
    assert not model.run_eagerly


def test_training_goes_on_as_if_nothing_had_happened():
    """The shuffling, the dropout, the dice of Python, NumPy and TensorFlow."""
    model, dataset = make_model(), make_dataset()
    twin, same = make_model(), make_dataset()
    drawn = []
    for one, data in ((model, dataset), (twin, same)):
        one.fit(data, epochs=2, verbose=0)
        random.seed(1)
        np.random.seed(1)
        tf.random.set_seed(1)
        if one is model:
            feedline.why(model, dataset, seconds=1)
        order = [batch[1].numpy().tolist() for batch in data]
        dice = random.random(), np.random.rand(), float(tf.random.uniform([]))
        drawn.append((order, dice))
        one.fit(data, verbose=0)
    assert drawn[0] == drawn[1]
    for ours, theirs in zip(values(model), values(twin), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_model_that_was_never_trained():
    model, dataset = make_model(), make_dataset()
    weights = model.get_weights()
    feedline.why(model, dataset, seconds=1)
    for was, now in zip(weights, model.get_weights(), strict=True):
        np.testing.assert_array_equal(was, now)
    assert int(model.optimizer.iterations) == 0
    assert {float(v) for v in model.get_metrics_result().values()} == {0.0}


def test_a_model_made_for_one_batch_size_is_built_for_it():
    """A stateful RNN, fed from what is read only once: only shapes are known."""
    model = keras.Sequential(
        [keras.Input(batch_shape=(8, 5, 1)), keras.layers.GRU(2, stateful=True)]
    )
    model.compile("adam", "mse")
    spec = tf.TensorSpec((None, 5, 1)), tf.TensorSpec((None, 2))
    once = tf.data.Dataset.from_generator(lambda: iter(()), output_signature=spec)
    _build(model, once)
    assert model.optimizer.built


def test_a_model_that_was_not_compiled():
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])
    with pytest.raises(FeedlineError, match=r"model\.compile\("):
        feedline.why(model, make_dataset())


@pytest.mark.parametrize("data", [np.zeros((4, 6)), [1, 2], None])
def test_data_that_is_no_dataset(data):
    with pytest.raises(FeedlineError, match="from_tensor_slices"):
        feedline.why(make_model(), data)


def test_a_dataset_that_fails_fails_with_its_own_error():
    def check(n):
        tf.debugging.assert_less(n, tf.constant(9, tf.int64), "too far")
        return tf.fill([8, 6], n), tf.zeros([8])

    model = make_model()
    weights = model.get_weights()
    with pytest.raises(tf.errors.InvalidArgumentError, match="too far"):
        feedline.why(model, tf.data.Dataset.range(10**9).map(check), seconds=1)
    for was, now in zip(weights, model.get_weights(), strict=True):
        np.testing.assert_array_equal(was, now)


def test_a_generator_that_keeps_a_state_is_not_read():
    reads = []

    def batches():
        reads.append(1)
        for _ in range(5):
            yield np.zeros((8, 6), "int32"), np.zeros(8, "float32")

    spec = tf.TensorSpec((8, 6), tf.int32), tf.TensorSpec((8,), tf.float32)
    dataset = tf.data.Dataset.from_generator(batches, output_signature=spec)
    with pytest.raises(FeedlineError, match="may keep a state"):
        feedline.why(make_model(), dataset, seconds=1)
    assert reads == []


def test_an_empty_dataset():
    with pytest.raises(FeedlineError, match="dataset ended before"):
        feedline.why(make_model(), make_dataset().take(0), seconds=1)


def test_whoever_profiles_already_goes_on(tmp_path):
    tf.profiler.experimental.start(str(tmp_path))
    try:
        report = feedline.why(make_model(), make_dataset(), seconds=1)
    finally:
        tf.profiler.experimental.stop()
    assert report.trace is None
    assert any("profile" in line for line in report.unknown)
    assert list(tmp_path.rglob("*.xplane.pb"))


def test_a_model_is_built_with_the_shapes_that_its_first_step_would_know():
    """Keras fails there; a batch at hand would have built it."""
    rows = tf.data.Dataset.from_tensor_slices(np.ones((64, 8), np.float32))
    unknown = rows.map(
        lambda x: (tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.float32), x[:1])
    )
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(FeedlineError, match="cannot be built before its first step"):
        feedline.why(model, unknown.batch(8), seconds=1)
    known = unknown.map(lambda x, y: (tf.ensure_shape(x, [8]), y))
    lengths = known.map(lambda x, y: (tf.reshape(x, [-1, 1]), y)).padded_batch(8)
    recurrent = keras.Sequential([keras.layers.GRU(2), keras.layers.Dense(1)])
    recurrent.compile("sgd", "mse")
    assert feedline.why(recurrent, lengths, seconds=1).step.steps > 0
