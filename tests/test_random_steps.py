"""No experiment leaves anything behind, whatever a training step keeps.

Models are written at random: a `train_step` with a tape, and in it up to three things
that keep a state of some kind. Each is trained twice from the same seed, once after
feedline has made experiments with it. All that can be seen must be the same; where
feedline declines, nothing may have been done either.
"""

from __future__ import annotations

import importlib.util
import os
import random
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import (
    HealthCheck,
    currently_in_test_context,
    event,
    given,
    settings,
)
from hypothesis import strategies as st

from feedline.errors import CannotPutBack
from feedline.job.loops.loop import Run
from feedline.measure.clock import SystemClock
from feedline.session.inprocess import bench

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore::UserWarning:keras"),
]


@dataclass(frozen=True)
class Keeps:
    """`made` in the constructor, `done` in the step, `seen` afterwards. `safe`: all of
    it is variables, so that experiments are possible."""

    made: str = ""
    done: str = "pass"
    seen: str = "None"
    safe: bool = False
    above: str = ""


KINDS = {
    "nothing": Keeps(safe=True),
    "a metric": Keeps(
        "self.mean = keras.metrics.Mean()",
        "self.mean.update_state(loss)",
        "float(model.mean.result())",
        safe=True,
    ),
    "a second optimizer": Keeps(
        "self.more = keras.optimizers.Adam(0.01)",
        "self.more.apply_gradients(zip(gradients, self.trainable_variables))",
        "[v.numpy().tolist() for v in model.more.variables]",
        safe=True,
    ),
    "a stray variable": Keeps(
        "self.count = tf.Variable(0)",
        "self.count.assign_add(1)",
        "int(model.count)",
        safe=True,
    ),
    "a variable of the module": Keeps(
        above="COUNT = tf.Variable(0.0)",
        done="COUNT.assign_add(loss)",
        seen="float(COUNT)",
        safe=True,
    ),
    "a generator": Keeps(
        "self.draw = tf.random.Generator.from_seed(7)",
        "self.dense.kernel.assign_add(0.01 * self.draw.normal([3, 2]))",
        "model.draw.state.numpy().tolist()",
        safe=True,
    ),
    "Keras' own seed": Keeps(
        done="self.dense.kernel.assign_add(0.01 * keras.random.normal([3, 2]))",
        safe=True,
    ),
    "a seed of a layer": Keeps(
        "self.drop = keras.layers.Dropout(0.5)",
        "self.dense.kernel.assign_add(self.drop(tf.ones([3, 2]), training=True))",
        "model.drop.seed_generator.state.numpy().tolist()",
        safe=True,
    ),
    "an unseeded draw": Keeps(
        done="self.dense.kernel.assign_add(0.01 * tf.random.normal([3, 2]))", safe=True
    ),
    "a table": Keeps(
        "self.table = tf.lookup.experimental.MutableHashTable("
        "tf.int64, tf.float32, -1.0)",
        "self.table.insert(tf.constant([1], tf.int64), tf.reshape(loss, [1]))",
        "model.table.export()[1].numpy().tolist()",
    ),
    "a print": Keeps(done="tf.print('loss', loss)"),
    "numpy that counts": Keeps(
        above="CALLS = []\ndef counted(x):\n    CALLS.append(1)\n    return x",
        done="tf.numpy_function(counted, [loss], tf.float32)",
        seen="len(CALLS)",
    ),
    "Python that counts": Keeps("self.calls = 0", "self.calls += 1", "model.calls"),
    "a list": Keeps("self.log = []", "self.log.append(1)", "list(model.log)"),
    "a dictionary of the module": Keeps(
        above="NOTES = {}", done="NOTES['step'] = len(NOTES)", seen="dict(NOTES)"
    ),
    "a global": Keeps(
        above="N = 0\ndef count():\n    global N\n    N += 1",
        done="count()",
        seen="N",
    ),
    "Python's chance": Keeps(
        above="import random",
        done="self.dense.kernel.assign_add([[random.random() * 0.01] * 2] * 3)",
        seen="random.random()",
    ),
    "NumPy's chance": Keeps(
        done="self.dense.kernel.assign_add(np.random.rand(3, 2) * 0.01)",
        seen="np.random.rand()",
    ),
    "print": Keeps(done="print('traced')"),
    "a file": Keeps(
        done="tf.io.write_file(PATH, tf.strings.as_string(loss))",
        seen="os.path.exists(PATH) and pathlib.Path(PATH).read_text()",
        above="import os, pathlib\n"
        "PATH = os.path.join(os.path.dirname(__file__), 'out.txt')",
    ),
    "a queue": Keeps(
        "self.queue = tf.queue.FIFOQueue(1000, tf.float32)",
        "self.queue.enqueue(loss)",
        "int(model.queue.size())",
    ),
}

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

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        {done}
        return {{"loss": loss}}

def seen(model):
    return [{seen}]
"""


def written(kinds, folder: Path):
    """A module with such a model, as a user would have it."""
    some = [KINDS[kind] for kind in kinds]
    text = TEXT.format(
        above="\n".join(each.above for each in some),
        made="\n        ".join(each.made or "pass" for each in some),
        done="\n        ".join(each.done for each in some),
        seen=", ".join(each.seen for each in some),
    )
    path = folder / f"users_{abs(hash(kinds))}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def heard():
    """What is written to standard output and error, TensorFlow's prints included."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        kept = os.dup(1), os.dup(2)
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        lines: list[str] = []
        try:
            yield lines
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for place, each in enumerate(kept, 1):
                os.dup2(each, place)
                os.close(each)
            file.seek(0)
            lines += [line for line in file if line.startswith(("loss", "traced"))]


def data():
    x = np.arange(48, dtype=np.float32).reshape(16, 3) / 48
    y = np.ones((16, 2), np.float32)
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(4)


def life(kinds, *, experiments):
    """A model is made, perhaps experimented with, and trained; what was seen of it,
    and whether experiments were made."""
    with tempfile.TemporaryDirectory() as folder, heard() as lines:
        keras.utils.set_random_seed(5)
        module = written(kinds, Path(folder))
        model = module.Model()
        model.compile(keras.optimizers.SGD(0.1), jit_compile=False)
        made = False
        if experiments:
            try:
                with bench(model, data(), SystemClock(), None) as loop:
                    made = True
                    loop.execute(Run("live", 3))
                    loop.execute(Run("host", 2))
            except CannotPutBack:
                pass
        history = model.fit(data(), epochs=2, verbose=0).history
        seen = module.seen(model)
        weights = [w.tolist() for w in model.get_weights()]
        slots = [v.numpy().tolist() for v in model.optimizer.variables]
        chance = random.random(), float(np.random.rand())
        drawn = float(tf.random.normal([]))
    return (history, seen, weights, slots, chance, drawn, lines), made


def unharmed(kinds):
    plain, _ = life(kinds, experiments=False)
    after, made = life(kinds, experiments=True)
    assert after == plain
    if currently_in_test_context():
        event("experimented with" if made else "declined")
    return made


EVERY = settings(deadline=None, suppress_health_check=list(HealthCheck))


def up_to_three(kinds):
    some = st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=3, unique=True)
    return some.map(tuple)


# Most mixtures of all kinds are declined; half of them can be experimented with.
SOME = up_to_three(KINDS) | up_to_three(k for k, keeps in KINDS.items() if keeps.safe)


@settings(EVERY, max_examples=8, derandomize=True)
@given(SOME)
def test_nothing_is_left_behind(kinds):
    unharmed(kinds)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_kind_of_state(kind):
    """What is made of variables alone can be experimented with; nothing else."""
    assert unharmed((kind,)) == KINDS[kind].safe


@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(EVERY, max_examples=1000, derandomize=False)
@given(SOME)
def test_nothing_is_left_behind_by_a_thousand(kinds):
    unharmed(kinds)
