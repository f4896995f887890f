"""A verdict from a training's own steps, which go on as if nobody looked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from feedline.fixes.fix import AtOnce, Edit, Proposal
from feedline.job.loops.call import CallLoop
from feedline.job.script.watch import Watch
from feedline.measure.clock import SystemClock
from feedline.session.plans.without_trial import WithoutTrial
from feedline.session.run.in_passing import InPassing, Seen, cured_of
from tests.clock import FakeClock

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore::UserWarning:keras"),
]

SCRIPT = """
import keras, numpy as np
rng = np.random.default_rng(0)
def batches():
    while True:
        yield rng.random((8, 4), np.float32), rng.random((8, 2), np.float32)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
model.compile("sgd", "mse")
model.fit(batches(), steps_per_epoch=40, epochs=2, verbose=0)
"""


def batches():
    rng = np.random.default_rng(0)
    while True:
        yield rng.random((8, 4), np.float32), rng.random((8, 2), np.float32)


def trained(passing=None, eager=False, source=None, callbacks=()):
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dropout(0.5), keras.layers.Dense(2)]
    )
    model.compile("adam", "mse", run_eagerly=eager)
    loop = CallLoop("fit", None, SystemClock(), model.fit)
    loop.model, loop.steps, loop.source = model, 60, source

    class Begin(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            if passing is not None:
                passing.follow(loop, "its data cannot be read twice")

    model.fit(
        batches() if source is None else source,
        steps_per_epoch=30,
        epochs=2,
        verbose=0,
        callbacks=[Begin(), *callbacks],
    )
    return loop, [v.numpy() for v in (*model.variables, *model.optimizer.variables)]


def seen(passing, *loops):
    watch = Watch(SystemClock(), lambda _: None)
    watch.loops.extend(loops)
    return passing.measured(watch)


@pytest.mark.parametrize("eager", [False, True])
def test_the_same_batches_are_trained_in_the_same_order(eager):
    _, plain = trained(eager=eager)
    _, ours = trained(InPassing(SystemClock()), eager=eager)
    for one, other in zip(plain, ours, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_was_seen_of_it():
    """By a clock that is turned by hand, and nothing reads ahead: a step waits 3 ms for
    its batch and takes 5 ms more."""
    clock = FakeClock()

    def slow():
        for batch in batches():
            clock.sleep(0.003)
            yield batch

    class Works(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            clock.work(0.005)

    signature = tuple(tf.TensorSpec((8, width)) for width in (4, 2))
    source = tf.data.Dataset.from_generator(slow, output_signature=signature)
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    passing = InPassing(clock)
    loop, _ = trained(passing, source=source.with_options(options), callbacks=[Works()])
    found, job, measured, _ = seen(passing, loop)
    assert found is loop
    assert job.notes == ("No fix was tried: its data cannot be read twice.",)
    assert measured.only_observed
    assert measured.step.batch_size == 8
    assert measured.step.steps == 57  # the first calls trace
    assert measured.step.observed.value == pytest.approx(8)
    shares = measured.step.shares()
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["input"] == pytest.approx(3 / 8)
    most = measured.step.observed.value * (1 + 1e-9)
    assert measured.stages
    assert all(each.ms_per_batch <= most * each.parallelism for each in measured.stages)


def test_a_wait_that_cannot_be_seen_is_said():
    passing = InPassing(SystemClock())
    loop, _ = trained(passing, eager=True)
    _, _, measured, _ = seen(passing, loop)
    assert "waits for its input: its steps run eagerly" in measured.unknown[0]


def test_of_a_loop_that_may_be_measured_nothing_is_said():
    other = types.SimpleNamespace(steps=90, periods=[1.0] * 9, waits=[0.1] * 9)
    assert seen(InPassing(SystemClock()), other) is None


def test_the_report_is_written(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "feedline", "run", "--json", "out.json", "train.py"],
        cwd=tmp_path,
        env={**os.environ, "FEEDLINE_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["notes"] == ["No fix was tried: its data cannot be read twice."]
    assert report["bound"] in ("input", "compute")
    assert report["proof"]["same"] == "observed"


def test_an_edit_that_does_not_pay_is_taken_out():
    said, stopped = [], []
    edit = AtOnce(
        Proposal(Edit("keep-results", 0), "exact"),
        lambda: (9, 1),
        lambda: stopped.append(True),
    )
    passing = InPassing(SystemClock())
    passing.uses(object(), [edit], said.append)
    slower = Seen([1.0] * 9, live=WithoutTrial((edit,)), helped=[2.0] * 40)
    faster = Seen([2.0] * 9, live=WithoutTrial((edit,)), helped=[1.0] * 40)
    passing._helped(faster)
    assert not stopped
    passing._helped(slower)
    assert stopped == [True]
    assert "removed keep-results" in said[0]
    kept, lost = cured_of(faster), cured_of(slower)
    assert kept is not None
    assert lost is not None
    assert kept.edits == (Edit("keep-results", 0),)
    assert kept.after is not None
    assert kept.after.gain.value == 2.0
    assert lost.edits == ()
