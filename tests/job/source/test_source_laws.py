"""Random steps with random state of random kinds: whatever keeps anything but
variables is refused, and whatever only computes is not."""

from __future__ import annotations

import itertools
import linecache
import textwrap

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedline.job.loops.loop import CannotRun
from feedline.job.source.graph_safe import dependencies_of

pytestmark = pytest.mark.tensorflow
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

HEAD = """\
import collections, contextlib, datetime, functools, itertools, logging, math
import operator, random, sys, time, warnings
import keras
import numpy as np
import tensorflow as tf

log = logging.getLogger("script")
COUNT, SCALE, NAME = 0, 0.5, "x"
SIZES, WORDS = [2, 3], ("a", "b")
SEEN, TABLE, PLACES = [], {}, set()
RNG, PICK = np.random.default_rng(0), random.Random(0)
NUMBERS, QUEUE = itertools.count(), collections.deque()
KEPT = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
VARIABLE = tf.Variable(1.0)
DENSE, MEAN = keras.layers.Dense(2), keras.metrics.Mean()
OPTIMIZER = keras.optimizers.SGD(0.1)
RATES = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
LOSS = keras.losses.MeanSquaredError()


def twice(x):
    return x * 2.0 * SCALE


def counting(x):
    global COUNT
    COUNT += 1
    return x


def collects(x, seen=[]):
    seen += [1]
    return x


def adds_to(seen):
    seen += [1]


@functools.lru_cache
def once(x):
    return x


def noted(function):
    @functools.wraps(function)
    def around(*args):
        SEEN.append(function.__name__)
        return function(*args)
    return around


def scaled(function):
    @functools.wraps(function)
    def around(*args):
        return function(*args) * SCALE
    return around


@noted
def noted_step(x):
    return x


@scaled
def scaled_step(x):
    return x + 1.0


def made():
    n = 0

    def bump():
        nonlocal n
        n += 1
        return n

    def still():
        return SCALE + 1.0

    return bump, still


BUMP, STILL = made()


@tf.function
def compiled(x):
    return tf.abs(x) + VARIABLE


@tf.function
def compiled_loudly(x):
    print("tracing")
    return x


@contextlib.contextmanager
def timed():
    start = time.time()
    yield
    SEEN.append(time.time() - start)


class Box:
    n, items = 0, []

    def __init__(self):
        self.own, self.size, self.layer = [], 2.0, keras.layers.Dense(1)

    def __call__(self, x):
        self.n += 1
        return x

    def __add__(self, other):
        Box.n += 1
        return other

    def __getattr__(self, name):
        Box.n += 1
        return 1.0

    @property
    def value(self):
        Box.n += 1
        return 2.0

    @property
    def half(self):
        return self.size / 2.0

    @functools.cached_property
    def first(self):
        return 1.0

    @staticmethod
    def plain(x):
        return x + 1.0

    @staticmethod
    def stores(x):
        SEEN.append(x)
        return x

    @classmethod
    def of(cls, x):
        cls.n += 1
        return x

    def adds(self, x):
        self.own.append(1)
        return x

    def grows(self, x):
        return x * self.size


class Watched:
    size = 1.0

    def __getattribute__(self, name):
        SEEN.append(name)
        return 1.0


class Maker:
    def __init__(self):
        SEEN.append(1)

    @classmethod
    def make(cls, x):
        cls()
        return x


class Counted:
    def __get__(self, *_):
        SEEN.append(1)
        return 1.0

    def __set__(self, *_):
        pass


class Described:
    rate = Counted()

    def __init__(self):
        vars(self)["rate"] = 0.5


class Note:
    def __get__(self, *_):
        SEEN.append(1)
        return 1.0


class Layer(keras.layers.Layer):
    noted, items = Note(), []

    def __init__(self):
        super().__init__()
        self.seen, self.known, self.rate = [], {"a": 1}, 0.5
        self.table = KEPT
        self.inner = keras.layers.Dense(2)

    def call(self, x):
        return self.inner(x) * self.rate

    def quietly(self, x):
        return x

    def loudly(self, x):
        self.seen.append(1)
        return x


BOX, LAYER = Box(), Layer()
WATCHED, MAKER, DESCRIBED = Watched(), Maker(), Described()
"""

PURE = [
    "y = x * SCALE + math.sqrt(2.0)",
    "y = twice(x)",
    "y = scaled_step(x)",
    "y = x + STILL()",
    "y = tf.reduce_mean(tf.nn.relu(x), axis=-1, keepdims=True)",
    "y = keras.ops.mean(x) + np.float32(2.0) + np.pi",
    "y = DENSE(x)",
    "y = compiled(x)",
    "VARIABLE.assign_add(1.0)",
    "MEAN.update_state(x)",
    "parts = []\nfor size in range(3):\n    parts.append(x * float(size))\ny = tf.add_n(parts)",
    "made = {}\nmade['a'] = x\nmade.update(b=x)\ny = made['b']",
    "y = sum([x * n for n in SIZES])",
    "y, *rest = [x, x, x]",
    "y = x\nfor word in WORDS:\n    y += 1.0",
    "if x.shape.rank == 2:\n    y = x[:, 0]\nelse:\n    y = x",
    "n = 0\nwhile n < 2:\n    n += 1",
    "assert isinstance(x, tf.Tensor) or len(x.shape) > 0, f'{x.shape}'",
    "if NAME == 'y':\n    raise ValueError(NAME)",
    "y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x, lambda: -x)",
    "def inner(z):\n    return z * SCALE\ny = inner(x)",
    "y = (lambda z: z + 1.0)(x)",
    "with tf.name_scope('part'):\n    y = tf.identity(x)",
    "with tf.GradientTape() as tape:\n    tape.watch(x)\n    y = x * x\ng = tape.gradient(y, x)",
    "y = BOX.grows(x) + BOX.half",
    "y = BOX.plain(x) + Box.plain(x)",
    "y = LAYER(x) + LAYER.quietly(x)",
    "y = tf.random.normal([2]) * RATES(1)",
    "y = LOSS(x, x)",
    "many = [x, x]\nmany += [x]",
    "if (n := tf.rank(x)) is not None:\n    y = n",
    "y = max([1.0, 2.0]) + min(SIZES)",
    "y = LAYER.known['a'] * x",
    "y = x.get_shape().as_list()",
]
# Whatever of this were taken for harmless would be frozen, doubled or lost.
IMPURE = [
    "global COUNT\nCOUNT += 1",
    "SEEN.append(1)",
    "SEEN.extend([1])",
    "seen = SEEN\nseen += [1]",
    "seen = BOX.own\nseen += [1]",
    "SEEN[:] = [1]",
    "del SEEN[:]",
    "[SEEN.append(n) for n in range(2)]",
    "(lambda: SEEN.append(1))()",
    "list.append(SEEN, 1)",
    "SEEN.__iadd__([1])",
    "getattr(SEEN, 'append')(1)",
    "operator.iadd(SEEN, [1])",
    "adds_to(SEEN)",
    "collects(x)",
    "counting(x)",
    "list(map(counting, [1]))",
    "noted_step(x)",
    "once(1)",
    "BUMP()",
    "compiled_loudly(x)",
    "TABLE['n'] = 1",
    "TABLE.update(n=1)",
    "TABLE.setdefault('n', 1)",
    "table = TABLE\ntable |= {'n': 1}",
    "PLACES.add(1)",
    "BOX.n += 1",
    "BOX.items.append(1)",
    "setattr(BOX, 'n', 1)",
    "vars(BOX)['n'] = 1",
    "globals()['COUNT'] = 1",
    "exec('COUNT = 1')",
    "BOX(x)",
    "y = BOX + x",
    "y = BOX.value",
    "y = BOX.first",
    "y = BOX.missing",
    "BOX.adds(x)",
    "Box.stores(x)",
    "BOX.stores(x)",
    "Box.of(x)",
    "BOX.of(x)",
    "Box()",
    "Box.n += 1",
    "LAYER.seen.append(1)",
    "LAYER.loudly(x)",
    "y = LAYER.noted",
    "LAYER.items.append(1)",
    "LAYER.rate = 0.25",
    "LAYER.known['b'] = 2",
    "LAYER.known.update(b=2)",
    "y = LAYER.table.lookup(tf.constant(['a']))",
    "for part in [LAYER]:\n    part.loudly(x)",
    "y = np.random.normal()",
    "y = RNG.normal()",
    "y = random.random()",
    "y = PICK.random()",
    "y = next(NUMBERS)",
    "QUEUE.append(1)",
    "y = time.time()",
    "y = time.perf_counter()",
    "y = datetime.datetime.now()",
    "y = tf.timestamp()",
    "with timed():\n    y = x",
    "KEPT.insert(tf.constant(['a']), tf.constant([1], tf.int64))",
    "tf.print('hello')",
    "print('hello')",
    "log.warning('hello')",
    "logging.info('hello')",
    "warnings.warn('hello')",
    "sys.stdout.write('hello')",
    "tf.numpy_function(counting, [x], tf.float32)",
    "tf.py_function(counting, [x], tf.float32)",
    "tf.summary.scalar('x', 1.0, step=0)",
    "tf.io.write_file('x', 'y')",
    "open('x')",
    "tf.random.set_seed(1)",
    "keras.utils.set_random_seed(1)",
    "tf.config.run_functions_eagerly(True)",
    "v = tf.Variable(1.0)",
    "y = keras.layers.Dense(2)(x)",
    "d = keras.layers.Dense\ny = d(2)(x)",
    "y = float(tf.reduce_sum(x).numpy())",
    "try:\n    y = x\nexcept ValueError:\n    pass",
    "import os\nos.getpid()",
    "yield x",
    "x.anything()",
    "for part in [x]:\n    part.save('here')",
    "y = tf.raw_ops.Timestamp()",
    "y = np.load('x')",
    "y = tf.data.Dataset.range(3)",
    "y = WATCHED.size",
    "Maker.make(x)",
    "MAKER.make(x)",
    "y = DESCRIBED.rate",
    "y = not_set_yet(x)",
    "raise SystemExit",
]
SHAPES = {
    "function": "def step(x):\n{}\n    return x\n",
    "closure": (
        "def outer():\n    half = 0.5\n\n    def step(x):\n        x = x * half\n"
        "{}\n        return x\n\n    return step\n\n\nstep = outer()\n"
    ),
    "called": "def inner(x):\n{}\n    return x\n\n\ndef step(x):\n    return inner(x)\n",
    "nested": (
        "def step(x):\n    def inner(x):\n{}\n        return x\n    return inner(x)\n"
    ),
    "branch": "def step(x):\n    if SCALE > 0.4:\n{}\n    return x\n",
    "layer": (
        "class Step(keras.layers.Layer):\n    def call(self, x):\n{}\n        return x\n"
        "\n\nINNER = Step()\n\n\ndef step(x):\n    return INNER(x)\n"
    ),
    "property": (
        "class Step(keras.layers.Layer):\n    @property\n    def size(self):\n"
        "        x = tf.ones([2])\n{}\n        return 1.0\n\n    def call(self, x):\n"
        "        return x * self.size\n\n\nINNER = Step()\n\n\n"
        "def step(x):\n    return INNER(x)\n"
    ),
    "static": (
        "class Step:\n    @staticmethod\n    def run(x):\n{}\n        return x\n\n\n"
        "def step(x):\n    return Step.run(x)\n"
    ),
    "list of layers": (
        "class Step(keras.layers.Layer):\n    def call(self, x):\n{}\n        return x\n"
        "\n\nINNER = [Step(), Step()]\n\n\ndef step(x):\n    for one in INNER:\n"
        "        x = one(x)\n    return x\n"
    ),
    "compiled": (
        "@tf.function\ndef inner(x):\n{}\n    return x\n\n\n"
        "def step(x):\n    return inner(x)\n"
    ),
}
numbers = itertools.count()
_world: dict = {}


def world():
    """The script's head, run once: it is never changed, for nothing is called."""
    if not _world:
        path = "/somewhere/head.py"
        linecache.cache[path] = (len(HEAD), None, HEAD.splitlines(True), path)
        exec(compile(HEAD, path, "exec", dont_inherit=True), _world)
    return _world


def judged(shape, statements):
    frame = SHAPES[shape]
    line = next(each for each in frame.splitlines() if each == "{}")
    before = frame.split(line)[0].rstrip("\n").splitlines()[-1]
    deeper = 4 if before.endswith(":") else 0
    depth = len(before) - len(before.lstrip()) + deeper
    body = textwrap.indent("\n".join(statements), " " * depth)
    text = frame.replace("{}", body, 1)
    path = f"/somewhere/step{next(numbers)}.py"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    around = dict(world())
    around["__name__"] = "script"
    code = compile(text, path, "exec", dont_inherit=True)
    exec(code, around)
    try:
        dependencies_of(around["step"])
    except CannotRun as reason:
        return str(reason)
    return ""


shapes = st.sampled_from(sorted(SHAPES))
pure = st.lists(st.sampled_from(PURE), min_size=1, max_size=4)


@pytest.mark.parametrize("statement", PURE)
def test_what_only_computes_is_accepted(statement):
    assert judged("function", [statement]) == ""


@pytest.mark.parametrize("statement", IMPURE)
def test_what_keeps_or_tells_anything_is_refused(statement):
    assert judged("function", [statement]) != ""


def law(max_examples):
    @settings(
        max_examples=max_examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(shapes, pure, st.none() | st.sampled_from(IMPURE), st.integers(0, 4))
    def checked(shape, statements, impure, place):
        if impure is not None:
            statements.insert(min(place, len(statements)), impure)
        why = judged(shape, statements)
        assert bool(why) == (impure is not None), why

    checked()


def test_wherever_it_stands():
    law(100)


@pytest.mark.slow
def test_wherever_it_stands_thousands():
    law(3_000)
