"""A step tried as a graph while the script trains with it: nothing can be told.

Steps are written at random, with up to three things in them that keep a state of some
kind. Each trains the same batches twice, by itself and with a live trial beside it. All
that can be seen must be the same, whether the trial turns the graph on or declines.
"""

from __future__ import annotations

import importlib.util
import itertools
import random
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings

from feedline.fixes.means.own_step.maker import OwnSteps
from feedline.job.loops.python import PythonLoop
from feedline.job.script.watch import Watch
from feedline.measure.clock import SystemClock
from feedline.prove.proof import Faster
from feedline.session.live import step_trial, turns
from feedline.session.live.step_trial import StepTrial
from tests.test_random_steps import EVERY, KINDS, SOME, heard

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore::UserWarning:keras"),
]

STEPS = 30
# What a graph draws otherwise stays with Python; all else that is made of variables
# alone becomes a graph.
DRAWN = {"a generator", "an unseeded draw"}
CURED = {name for name, kind in KINDS.items() if kind.safe} - DRAWN

TEXT = """\
import keras, numpy as np, tensorflow as tf
{above}

class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(2)
        {made}

    def call(self, x):
        return self.dense(x)

model = self = Model()
optimizer = keras.optimizers.Adam(0.01)
model.optimizer = optimizer

def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    {done}
    return {{"loss": loss, "both": (loss, loss + 1.0)}}

def seen(model):
    return [{seen}]
"""

numbers = itertools.count()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Short turns, and the graph counts as faster. (Pytest changes the code of tests:
    nobody can tell where it has a `try`.)"""
    monkeypatch.setattr(step_trial, "caught", lambda _: False)
    monkeypatch.setattr(turns, "_TURN_S", 0.0)
    monkeypatch.setattr(turns, "_LEAST_ROUNDS", 2)
    monkeypatch.setattr(turns, "_MOST_ROUNDS", 2)
    monkeypatch.setattr(Faster, "proved", property(lambda _: True))


def written(kinds, folder):
    some = [KINDS[kind] for kind in kinds]
    text = TEXT.format(
        above="\n".join(each.above for each in some),
        made="\n        ".join(each.made or "pass" for each in some),
        done="\n    ".join(
            each.done.replace("self.trainable", "model.trainable") for each in some
        ),
        seen=", ".join(each.seen for each in some),
    )
    path = folder / f"users_loop_{next(numbers)}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def batches(count, shapes=(4,)):
    rng = np.random.default_rng(3)
    for number in range(count):
        size = shapes[number % len(shapes)]
        x = rng.standard_normal((size, 3)).astype("float32")
        yield tf.constant(x), tf.constant(x[:, :2] * 2)


def trial_of(function, told=lambda _: None, allowed=("exact",)):
    clock = SystemClock()
    loop = PythonLoop(None, clock, OwnSteps())
    loop.step_code = function.__code__
    return StepTrial(loop, Watch(clock, lambda _: None), allowed, told)


def life(kinds, *, tried, shapes=(4,), allowed=("exact",), steps=STEPS):
    """All that can be seen of a training, and the trial."""
    trial = None
    with tempfile.TemporaryDirectory() as folder, heard() as lines:
        keras.utils.set_random_seed(5)
        module = written(kinds, Path(folder))
        returned = []
        for number, (x, y) in enumerate(batches(steps, shapes)):
            if number == 4 and tried:
                trial = trial_of(module.step, allowed=allowed)
            if trial is not None and trial.on:
                trial.trace_s = 0.0
            result = module.step(x, y)
            flat = tf.nest.flatten(result)
            returned.append([type(each).__name__ for each in flat])
            returned.append([float(each) for each in flat])
        seen = module.seen(module.model)
        values = [
            v.numpy().tolist()
            for v in (*module.model.variables, *module.optimizer.variables)
        ]
        chance = random.random(), float(np.random.rand())
        drawn = float(tf.random.normal([]))
    return (returned, seen, values, chance, drawn, lines), trial


def unharmed(kinds, **more):
    plain, _ = life(kinds, tried=False, **more)
    after, trial = life(kinds, tried=True, **more)
    assert after == plain
    return trial


@settings(EVERY, max_examples=4, derandomize=True)
@given(SOME)
def test_nothing_can_be_told(kinds):
    unharmed(kinds)


@pytest.mark.slow
@settings(EVERY, max_examples=500)
@given(SOME)
def test_nothing_can_be_told_of_hundreds(kinds):
    unharmed(kinds)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_kind_of_state(kind):
    trial = unharmed((kind,))
    assert trial.on == (kind in CURED), trial.why_not
    assert trial.on == (not trial.why_not)


def test_batches_of_another_shape_get_a_graph_once_it_pays():
    trial = unharmed(("a metric",), shapes=(4, 4, 4, 2), steps=50)
    assert trial.on
    assert len(trial.step.graphs()) == 2


def test_an_error_of_the_step_is_the_scripts_own(tmp_path):
    module = written(("nothing",), tmp_path)
    for x, y in batches(3):
        module.step(x, y)
    trial = trial_of(module.step)
    before = [v.numpy() for v in module.model.variables]
    x, y = next(batches(1))
    with pytest.raises(tf.errors.InvalidArgumentError):
        module.step(x, tf.ones([3, 3]))
    after = [v.numpy() for v in module.model.variables]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    module.step(x, y)
    assert trial.phase in ("same", "over")


def test_numbers_of_python_are_left_to_python(tmp_path):
    told = []
    module = written(("nothing",), tmp_path)
    data = list(batches(6))
    for x, y in data[:3]:
        module.step(x, y)
    code = module.step.__code__
    trial_of(module.step, told.append)
    module.step(data[3][0].numpy(), data[3][1])
    assert told[0].why_not.startswith("it is called with")
    assert module.step.__code__ is code


def rounded(trial_step, kernel, monkeypatch):
    """A graph that rounds otherwise."""
    original = trial_step.as_graph

    def other(*args, **kwargs):
        found = original(*args, **kwargs)
        kernel.assign(kernel + 1e-6)
        return found

    monkeypatch.setattr(trial_step, "as_graph", other)


@pytest.mark.parametrize("allowed", [("exact",), ("exact", "numeric")])
def test_another_rounding_needs_to_be_allowed(tmp_path, monkeypatch, allowed):
    told = []
    keras.utils.set_random_seed(5)
    module = written(("nothing",), tmp_path)
    data = list(batches(STEPS))
    for x, y in data[:3]:
        module.step(x, y)
    trial = trial_of(module.step, told.append, allowed)
    rounded(trial.step, module.model.dense.kernel, monkeypatch)
    for x, y in data[3:]:
        module.step(x, y)
    assert told == [trial]
    assert trial.grade == "numeric"
    assert trial.on == ("numeric" in allowed)
    assert trial.faster is not None
    if not trial.on:
        assert "--allow numeric" in trial.why_not
        values = [v.numpy() for v in module.model.variables]
        keras.utils.set_random_seed(5)
        plain = written(("nothing",), tmp_path)
        for x, y in data:
            plain.step(x, y)
        for one, other in zip(values, plain.model.variables, strict=True):
            assert np.array_equal(one, other.numpy())
