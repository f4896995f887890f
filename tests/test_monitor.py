"""`feedline.Monitor`: what it sees is true, and the training does not notice it."""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest

from feedline.errors import FeedlineError, FeedlineWarning
from tests.clock import FakeClock
from tests.place import LIMIT

pytestmark = pytest.mark.tensorflow

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")

import feedline  # noqa: E402
from feedline.monitor import probe  # noqa: E402
from feedline.monitor.display import Display  # noqa: E402
from feedline.monitor.record import Record  # noqa: E402

D = tf.data.Dataset
X = np.random.default_rng(0).random((96, 16), dtype=np.float32)
Y = X.sum(1)


def made(seed=3, **more):
    keras.utils.set_random_seed(seed)
    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((16,)), layers.Dropout(0.3), layers.Dense(4), layers.Dense(1)]
    )
    model.compile("adam", "mse", **more)
    return model


def data(batch=8, **more):
    def jitter(x, y):
        return x + tf.random.uniform([16], seed=4), y

    return D.from_tensor_slices((X, Y)).shuffle(96, **more).map(jitter).batch(batch)


def often(monitor):
    """Probes every step, as no real budget would allow."""
    monitor._pace.probed = lambda *_: None
    begin = monitor._begin

    def begun(watched):
        begin(watched)
        monitor._pace.probed = lambda *_: None

    monitor._begin = begun
    return monitor


class Works(keras.callbacks.Callback):
    """Each step takes about so many seconds of a clock that is turned by hand."""

    def __init__(self, clock, seconds):
        super().__init__()
        self.clock, self.seconds, self.lot = clock, seconds, random.Random(1)

    def on_train_batch_end(self, batch, logs=None):
        self.clock.work(self.seconds * self.lot.uniform(0.9, 1.1))


def fitted(callbacks, compiled=None, **more):
    model = made(**(compiled or {}))
    tf.random.set_seed(9)
    random.seed(4)
    more = {"epochs": 3, "verbose": 0, **more}
    source = data() if "steps_per_epoch" not in more else data().repeat()
    history = model.fit(source, callbacks=callbacks, **more)
    drawn = (float(tf.random.uniform([])), random.random(), float(np.random.rand()))
    return model, model.get_weights(), history.history, drawn


def same(one, two):
    assert all((a == b).all() for a, b in zip(one[1], two[1], strict=True))
    assert one[2:] == two[2:]


# --------------------------------------------------------- the training goes on as is


@pytest.mark.parametrize(
    ("compiled", "more"),
    [
        ({}, {}),
        ({"steps_per_execution": 5}, {}),
        ({}, {"validation_data": (X[:16], Y[:16])}),
        ({}, {"steps_per_epoch": 5}),
        ({"run_eagerly": True}, {"epochs": 1}),
    ],
    ids=["plain", "steps per execution", "validation", "steps per epoch", "eager"],
)
def test_the_same_weights_bit_for_bit(compiled, more, tmp_path):
    plain = fitted([], compiled, **more)
    monitor = often(feedline.Monitor(tmp_path, every=0.01, live=False))
    watched = fitted([monitor], compiled, **more)
    same(plain, watched)
    found = monitor.summary
    assert found.notes == ()
    assert found.input_share is not None
    assert found.examples_per_s is not None
    assert watched[0].train_function.__qualname__.startswith("TensorFlowTrainer")
    assert any(tmp_path.iterdir())


def test_nothing_is_traced_again():
    model, counts = made(), []

    class Count(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            inner = model.train_function
            inner = getattr(inner, "_feedline_original", inner)
            held = [cell.cell_contents for cell in inner.__closure__]
            traced = [f for f in held if hasattr(f, "experimental_get_tracing_count")]
            counts.append([f.experimental_get_tracing_count() for f in traced])

    monitor = often(feedline.Monitor(live=False))
    model.fit(data(), epochs=3, verbose=0, callbacks=[monitor, Count()])
    assert counts[0]
    assert counts[0] == counts[-1]
    assert monitor.summary.input_share.rounds > 20


def test_ragged_text_and_a_smaller_last_batch():
    def words(batch):
        text = tf.ragged.constant([["a", "bb"], ["c"], [], ["d", "e", "f"], ["g"]])
        label = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0])
        return D.from_tensor_slices((text, label)).batch(batch).repeat(6)

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, x):
            return self.dense(tf.cast(x.row_lengths(), tf.float32)[:, None])

        def train_step(self, batch):
            x, y = batch
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x) - y) ** 2)
            gradient = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply(gradient, self.trainable_variables)
            return {"loss": loss}

    def train(callbacks):
        keras.utils.set_random_seed(1)
        model = Model()
        model.dense.build((None, 1))
        model.compile("sgd")
        model.fit(words(2), epochs=2, verbose=0, callbacks=callbacks)
        return model.get_weights()

    monitor = often(feedline.Monitor(live=False))
    plain, watched = train([]), train([monitor])
    assert all((a == b).all() for a, b in zip(plain, watched, strict=True))
    assert monitor.summary.notes == ()


REPLICAS = """
import sys
import keras, numpy as np, tensorflow as tf
sys.path[:0] = {path!r}
import feedline
from tests.test_monitor import data, often

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

def train(callbacks, make=lambda model, ds: None):
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(1)])
        model.compile("adam", "mse")
    model.fit(data(batch=10), epochs=2, verbose=0, callbacks=callbacks)
    return model.get_weights()

monitor = often(feedline.Monitor(every=0.01, live=False))
plain, watched = train([]), train([monitor])
assert all((a == b).all() for a, b in zip(plain, watched))
found = monitor.summary
assert found.notes == (), found.notes
assert found.input_share.rounds > 5, found
assert 6 <= monitor._record.meter.examples <= 10, monitor._record.meter.examples

with feedline.Monitor(live=False) as loop:
    for batch in loop.watch(strategy.experimental_distribute_dataset(data(batch=10))):
        pass
assert loop.summary.steps == 10, loop.summary
print("replicas fine")
"""


def test_under_a_strategy_over_two_logical_devices():
    program = REPLICAS.format(path=[path for path in sys.path if path])
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert "replicas fine" in done.stdout, done.stderr[-3000:]


# -------------------------------------------------------------- whatever fails


def test_a_writer_that_fails_costs_the_scalars_only(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("no folder", "utf-8")
    monitor = often(feedline.Monitor(blocked / "logs", every=0.001, live=False))
    same(fitted([]), fitted([monitor]))
    assert any("scalars failed" in note for note in monitor.summary.notes)
    assert monitor.summary.input_share is not None


@pytest.mark.parametrize("part", ["step", "take"])
def test_a_fault_of_ours_ends_the_monitor_not_the_training(part, monkeypatch, caplog):
    def broken(*args, **more):
        raise RuntimeError("planted")

    if part == "take":
        monkeypatch.setattr("feedline.monitor.probe._holding", broken)
    else:
        monkeypatch.setattr(Record, part, broken)
    monitor = often(feedline.Monitor(live=False))
    with caplog.at_level(logging.WARNING):
        same(fitted([]), fitted([monitor]))
    if part == "take":
        assert "planted" in monitor.summary.notes[0]
    else:
        assert "the training goes on" in caplog.text
        assert caplog.text.count("planted") == 1


def test_a_job_that_fails_leaves_the_model_as_it_was():
    class Bad(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 5:
                raise ValueError("by the user himself")

    model, monitor = made(), often(feedline.Monitor(live=False))
    with pytest.raises(ValueError, match="by the user himself"):
        model.fit(data(), verbose=0, callbacks=[monitor, Bad()])
    steps = monitor.summary.steps
    model.fit(data(), verbose=0)  # without us: our clock stands back
    assert monitor.summary.steps <= steps + 1
    model.fit(data(), verbose=0, callbacks=[monitor])
    assert model.train_function.__qualname__.startswith("TensorFlowTrainer")
    assert monitor.summary.steps >= steps + 12

    def wrong(x, y):
        return tf.debugging.check_numerics(x / 0.0, "bad"), y

    with pytest.raises(tf.errors.InvalidArgumentError):
        model.fit(
            data().take(6).concatenate(data().map(wrong)),
            verbose=0,
            callbacks=[monitor],
        )
    assert model.train_function.__qualname__.startswith("TensorFlowTrainer")


def test_early_stopping_and_several_fits(capfd):
    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training = batch == 4

    model, monitor = made(), feedline.Monitor()
    model.fit(data(), epochs=3, verbose=0, callbacks=[monitor, Stop()])
    assert (monitor.summary.steps, monitor.summary.epochs) == (5, 1)
    model.fit(data(), epochs=2, verbose=0, callbacks=[monitor])
    assert (monitor.summary.steps, monitor.summary.epochs) == (29, 3)
    made().fit(data(), verbose=0, callbacks=[monitor])
    assert monitor.summary.epochs == 1
    lines = [line for line in capfd.readouterr().err.splitlines() if "epoch" in line]
    assert [line.split()[2] for line in lines] == ["1:", "2:", "3:", "1:"]
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize("wrong", [{"every": 0}, {"every": "x"}, {"live": "yes"}])
def test_wrong_arguments(wrong):
    with pytest.raises(FeedlineError, match=r"every|live"):
        feedline.Monitor(**wrong)


# ------------------------------------------------------------------- what it sees


def test_an_input_that_becomes_slow_in_epoch_2_is_named_once():
    """The monitor has a clock that is turned by hand. What a stage costs TensorFlow
    counts by itself, so that the nap is a real one as well. Nothing reads ahead: each
    nap falls into the step that waits for it, on however busy a machine."""
    clock, slow = FakeClock(), tf.Variable(0.0)

    def wait(x, y):
        def nap(seconds):
            time.sleep(float(seconds))
            clock.sleep(float(seconds))
            return np.float32(0)

        return x + tf.reshape(tf.numpy_function(nap, [slow], tf.float32), []), y

    class Slower(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            slow.assign(0.0 if epoch == 0 else 0.01)

    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    source = D.from_tensors((X[:8], Y[:8])).repeat(100).map(wait)
    source = source.with_options(options)
    monitor = often(feedline.Monitor(every=0.05, live=False))
    monitor._clock = clock
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FeedlineWarning)
        watching = [Slower(), Works(clock, 0.005), monitor]
        made().fit(source, epochs=3, verbose=0, callbacks=watching)
    told = [str(w.message) for w in caught if w.category is FeedlineWarning]
    told = [text for text in told if "waits for its input" in text]
    assert len(told) == 1
    assert told[0].startswith("Since epoch 2")
    assert "feedline why SCRIPT" in told[0]
    (warned,) = [w for w in monitor.summary.warnings if w.kind == "input"]
    assert warned.epoch == 2
    assert warned.cause == "python-in-pipeline"


def test_a_loop_of_ones_own_with_its_exact_waits():
    clock = FakeClock()

    def batches(wait):
        for _ in range(50):
            clock.sleep(wait)
            yield np.zeros((4, 2))

    told = pytest.warns(FeedlineWarning, match="waits for its input")
    with told as told, feedline.Monitor(every=0.5, live=False) as monitor:
        monitor._record.clock = monitor._clock = clock
        monitor._record._last = 0.0
        for wait in (0.001, 0.001, 0.001, 0.03, 0.03):
            for _ in monitor.watch(batches(wait)):
                clock.work(0.02)
    assert len(told) == 1
    found = monitor.summary
    assert found.steps == 250
    assert found.epochs == 5
    (warned,) = found.warnings
    assert warned.epoch == 4
    exact = (3 * 0.001 + 2 * 0.03) / (3 * 0.021 + 2 * 0.05)
    assert found.input_share.value == pytest.approx(exact, abs=0.02)


def test_what_is_shown_and_logged(tmp_path, capsys):
    monitor = often(feedline.Monitor(tmp_path, every=0.05, live=False))
    made().fit(data(), epochs=4, verbose=0, callbacks=[monitor])
    monitor.show()
    shown = capsys.readouterr().out
    assert "48 steps, 4 epoch(s)" in shown
    assert "waiting for input" in shown
    values = [
        value
        for path in tmp_path.rglob("events*")
        for record in tf.data.TFRecordDataset(str(path))
        for value in tf.compat.v1.Event.FromString(record.numpy()).summary.value
    ]
    tags = {value.tag for value in values}
    assert {"feedline/examples_per_second", "feedline/step_ms"} <= tags
    assert {value.metadata.plugin_data.plugin_name for value in values} == {"scalars"}
    assert all(tf.make_ndarray(value.tensor).shape == () for value in values)
    assert monitor.summary.notes == ()


def test_by_itself_it_is_within_its_budget(monkeypatch):
    """A thousandth of the time, after a few probes that come soon; one costs a tenth
    of a step here."""
    clock, holding = FakeClock(), probe._holding

    def costs(*given):
        clock.work(0.0005)
        return holding(*given)

    monkeypatch.setattr(probe, "_holding", costs)
    monitor = feedline.Monitor(live=False)
    monitor._clock = clock
    source = D.from_tensors((X, Y)).repeat(2000)
    made().fit(source, verbose=0, callbacks=[Works(clock, 0.005), monitor])
    found = monitor.summary
    assert 15 <= found.input_share.rounds <= 35
    assert 0.0005 < found.own_share < 0.002


def test_the_line_on_a_terminal_leaves_keras_its_bar():
    """In a real terminal, drawn by a real fit."""
    import pty

    program = """
    import sys; sys.path[:0] = PATH
    import feedline
    from tests.test_monitor import made, X, Y, D
    from feedline.monitor import record
    record._DRAW_S = 0.01
    m = feedline.Monitor()
    made().fit(D.from_tensors((X, Y)).repeat(60), epochs=2, callbacks=[m])
    """
    program = textwrap.dedent(program).replace("PATH", repr([p for p in sys.path if p]))
    parent, child = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=child,
        stderr=child,
        env={
            **os.environ,
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TERM": "xterm",
            "COLUMNS": "80",
            "PYTHONIOENCODING": "utf-8",
        },
    ) as process:
        os.close(child)
        taken = b""
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:
                break
            if not part:
                break
            taken += part
        process.wait(timeout=LIMIT)
    os.close(parent)
    text = taken.decode("utf-8")
    assert process.returncode == 0, text
    assert "examples/s" in text
    screen = on_screen(text)
    bars = [line for line in screen if "60/60" in line]
    assert len(bars) == 2
    # Gone at the end; a warning may name a file in a folder called feedline.
    assert not any(line.startswith("feedline") for line in screen), screen
    assert not any("examples/s" in line for line in screen), screen
    assert [line for line in screen if line.startswith("Epoch")]


def on_screen(text):
    """What stands on the terminal at the end: enough of one to tell."""
    import re

    rows, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|.|\n", text, re.DOTALL):
        if part == "\n":
            row, column = row + 1, 0
            if row == len(rows):
                rows.append("")
        elif part == "\r":
            column = 0
        elif part == "\b":
            column = max(0, column - 1)
        elif part == "\x1b[2K":
            rows[row] = ""
        elif part == "\x1b[1A":
            row = max(0, row - 1)
        elif not part.startswith("\x1b"):
            line = rows[row].ljust(column)
            rows[row] = line[:column] + part + line[column + 1 :]
            column += 1
    return [line.rstrip() for line in rows]


def test_a_display_that_says_nothing(capsys):
    display = Display(False)
    display.draw("x", bar=True)
    display.tell("y")
    assert capsys.readouterr() == ("", "")
