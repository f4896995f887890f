"""What a plan is bound to: the same in every run of the same script, and another as
soon as anything in it could give other numbers."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import subprocess
import sys

import pytest

from feedline.fixes.binding import Binding
from feedline.fixes.identity.part import UNTOLD, Part
from feedline.fixes.identity.stages import told

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("no_seed")]

JOB = """\
import keras
import numpy as np
import tensorflow as tf
from types import SimpleNamespace
from feedline.prove.bound import bound
from feedline.fixes.identity.step import step_of
from feedline.job.tfdata.pipeline import Where
from feedline.job.tfdata.read import read

FACTOR = 2.0
TABLE = np.arange(4, dtype="f4")


def helper(x, more=1.0):
    return x * FACTOR + more


def outer(added):
    def load(x):
        return helper(x) + added + tf.reduce_sum(TABLE)
    return load


class Shift:
    by = 1.0

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return x * self.scale + self.by


def draw(x):
    return x + tf.random.uniform([], seed=None)


def inside(x):
    return np.float32(x) + np.float32(1.0)


def counted():
    for i in range(4):
        yield np.float32(i + 1)


def activation(x):
    return x + 1.0


def loss(y, p):
    return tf.reduce_mean((y - p) ** 2)


class Block(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(3, activation=activation)

    def call(self, x):
        return self.dense(x) * 1.5


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def call(self, x):
        return self.block(x)

    def train_step(self, data):
        return {"loss": self.compute_loss(*data)}


def step(x):
    return helper(x)


def make():
    tf.random.set_seed(None)
    # A seed for all.
    numbers = tf.data.Dataset.range(8).map(lambda x: tf.cast(x, tf.float32))
    first = numbers.map(outer(3.0)).map(Shift(2.0)).map(draw)
    first = first.map(lambda x: tf.numpy_function(inside, [x], tf.float32))
    second = tf.data.Dataset.from_generator(
        counted, output_signature=tf.TensorSpec([], tf.float32)
    )
    both = tf.data.Dataset.zip((first, second)).shuffle(5, seed=None).batch(2)
    net = Net()
    net.compile(keras.optimizers.Adam(0.1, beta_1=0.8), loss, jit_compile=False)
    facts = dict(where=None, model=None, strategy=None, callbacks=(), step_code=None)
    fit = step_of(SimpleNamespace(**facts | {"kind": "fit", "model": net}))
    own = {"kind": "loop", "where": Where(__file__, LINE), "step_function": step}
    return bound(read(both).numbered(), fit), step_of(SimpleNamespace(**facts | own))


def training():
    for x in [1.0, 2.0]:  # the loop
        step(x)
"""
LINE = 1 + next(n for n, text in enumerate(JOB.splitlines()) if "# the loop" in text)
_numbers = itertools.count()


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The job of this text, told: by its fit, and by its own loop."""

    def make(*changes):
        text = JOB.replace("LINE", str(LINE))
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / f"train_{next(_numbers)}.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("train_job", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "train_job", module)
        spec.loader.exec_module(module)
        fit, own = module.make()
        return Binding((*fit.parts, Part("own", own.name, own.facts)))

    return make


CHANGES = [
    ("a constant", "return x * FACTOR + more", "return x * FACTOR + more * 2", "code"),
    ("a global", "FACTOR = 2.0", "FACTOR = 3.0", "map(load)"),
    ("a default", "more=1.0", "more=2.0", "map(load)"),
    ("a closure", "outer(3.0)", "outer(4.0)", "map(load)"),
    ("an array", "np.arange(4, ", "np.arange(1, 5, ", "map(load)"),
    ("an attribute", "Shift(2.0)", "Shift(3.0)", "map(Shift)"),
    ("an attribute of a class", "by = 1.0", "by = 2.0", "map(Shift)"),
    ("a method", "x * self.scale + self.by", "self.scale * x - self.by", "map(Shift)"),
    ("another draw", "random.uniform([]", "random.normal([]", "map(draw)"),
    ("a seed", "uniform([], seed=None", "uniform([], seed=7", "map(draw) (other"),
    ("a global seed", "# A seed for all.", "tf.random.set_seed(3)", "map(draw) (other"),
    ("Keras' seed", "# A seed for all.", "keras.utils.set_random_seed(3)", "seeds"),
    ("a seed of a stage", "shuffle(5, seed=None", "shuffle(5, seed=3", "shuffle(5)"),
    ("an argument", "shuffle(5,", "shuffle(6,", "shuffle(5) (other arguments)"),
    ("Python inside", "np.float32(x) + ", "np.float32(x) - ", "map(lambda)"),
    (
        "a generator",
        "np.float32(i + 1)",
        "np.float32(i + 2)",
        "from_generator(counted)",
    ),
    ("the data", "range(8)", "range(9)", "range()"),
    ("a train step", "(*data)}", "(*data) * 2}", "other layers"),
    ("a layer's code", "self.dense(x) * 1.5", "self.dense(x) / 1.5", "other layers"),
    ("a layer", "Dense(3, ", "Dense(4, ", "other layers"),
    ("an activation", "return x + 1.0", "return x + 2.0", "other layers"),
    ("a loss", "(y - p) ** 2", "abs(y - p)", "loss and metrics"),
    ("an optimizer", "optimizers.Adam(", "optimizers.AdamW(", "other optimizer"),
    ("its options", "beta_1=0.8", "beta_1=0.7", "other optimizer"),
    ("how it is compiled", "jit_compile=False", "jit_compile=True", "jit_compile"),
    ("the loop", "in [1.0, 2.0]", "in [1.0, 3.0]", "(other loop)"),
    ("the step", "return helper(x)\n", "return helper(x) + 1\n", "(other function)"),
]


@pytest.fixture
def plain(made):
    return made()


@pytest.mark.parametrize(
    ("old", "new", "named"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES]
)
def test_a_change_is_seen_and_named(made, plain, old, new, named):
    changed = list(plain.changes(made((old, new))))
    assert changed
    assert any(named in each for each in changed), changed
    refusal = plain.refusal(made((old, new)))
    assert refusal.startswith("the plan was made for another version of ")
    assert "measuring is needed again: remove" in refusal


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def helper", "\n\n# Another line.\ndef helper"),
        ("Adam(0.1,", "Adam(0.2,"),  # training changes it, and so do callbacks
        ("def step(x)", "UNUSED = 5\n\n\ndef step(x)"),
    ],
    ids=["a comment", "a learning rate", "what nobody uses"],
)
def test_what_makes_no_difference_is_not_seen(made, plain, old, new):
    # The loop's own line moves with the text before it.
    parts = tuple(part for part in plain.parts if part.key != "own")
    now = tuple(part for part in made((old, new)).parts if part.key != "own")
    assert list(Binding(parts).changes(Binding(now))) == []


def test_it_is_the_same_in_another_process():
    """With other hashes, other counters in names and another place in memory."""
    from tests.fixes.identity.identity_jobs import facts

    here = facts()
    program = (
        "import json; from tests.fixes.identity.identity_jobs import facts; "
        "print(json.dumps(facts()))"
    )
    there = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "PYTHONHASHSEED": "77",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        timeout=300,
    )
    assert json.loads(there.stdout.splitlines()[-1]) == here
    assert facts() == here
    assert UNTOLD not in json.dumps(here)


# ------------------------------------------------------------- values of any kind


def test_values_are_told_by_content():
    import numpy as np
    import tensorflow as tf

    large = np.zeros(1_000_000, "f4")
    other = large.copy()
    other[:] = 1
    pairs = [
        (1, 1.0),
        (1, True),
        ((1, 2), [1, 2]),
        ({"a": 1}, {"a": 2}),
        ({1, 2}, {1, 3}),
        (np.arange(3), np.arange(3.0)),
        (large, other),
        (large, large[:-1]),
        (tf.constant([1, 2]), tf.constant([1, 3])),
        (lambda: 1, lambda: 2),
        (int, float),
    ]
    for one, two in pairs:
        assert told(one) == told(one)
        assert told(one) != told(two)
    assert told(tf.Variable([1.0])) == told(tf.Variable([2.0]))


def test_things_that_hold_each_other_come_to_an_end():
    def one():
        return two()

    def two():
        return one()

    circle: list[object] = [one]
    circle.append(circle)
    assert told(circle) == told(circle)


def test_what_cannot_be_told_is_never_the_same():
    part = Part("stage 0", "map(f)", {"graph 0": UNTOLD})
    (change,) = Binding((part,)).changes(Binding((part,)))
    assert change == "map(f), and whether that changed (graph) cannot be told"


def test_a_refusal_says_which_version_and_what_is_here():
    was = Binding((Part("versions", "the versions", {"tensorflow": "2.20.0"}),))
    now = Binding((Part("versions", "the versions", {"tensorflow": "2.21.0"}),))
    assert was.refusal(now, "remove p.json") == (
        "the plan was made for tensorflow 2.20.0, and here it is 2.21.0; measuring is "
        "needed again: remove p.json"
    )
