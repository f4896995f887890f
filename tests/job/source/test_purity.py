"""Which functions are seen to keep nothing between two calls."""

# ruff: noqa: PLW0108, C416, PLC3002

import collections
import functools
import hashlib
import itertools
import json
import math
import os
import random
import re
import subprocess
import time
import types

import numpy as np
import pytest

from feedline.job.source.purity import Purity, purity

pytestmark = pytest.mark.tensorflow


def test_purity():
    calls = []
    count = 0
    rng = np.random.default_rng(0)
    numbers = iter([1, 2, 3])

    def clean(x):
        total = [n * 2 for n in range(3)]
        return np.sqrt(x) + sum(total) + helper(x)

    def helper(x):
        return len(str(x).upper())

    def counts(x):
        nonlocal count
        count += 1
        return x

    def marks(x):
        global _marked  # noqa: PLW0603
        _marked = x
        return x

    def seeded(x):
        return np.random.default_rng(int(x)).normal()

    assert purity(clean).pure is True
    for impure, why in (
        (counts, "count"),
        (marks, "_marked"),
        (lambda x: x + random.random(), "random"),
        (lambda x: x + np.random.rand(), "rand"),
        (lambda x: x + rng.normal(), "rng"),
        (lambda x: x + next(numbers), "numbers"),
        (lambda x: counts(x) + 1, "count"),
        (functools.partial(lambda r, x: r.random() + x, random.Random(1)), "draws"),
    ):
        hint = purity(impure)
        assert hint.pure is False, why
        assert any(why in reason for reason in hint.reasons)
    assert purity(lambda x: open(x).read()) == Purity(True, opens=True)  # noqa: SIM115
    for unknown in (
        seeded,
        lambda x: calls.append(x) or x,
        lambda x: time.time() + x,
        lambda x: subprocess.run(x).stdout,
    ):
        hint = purity(unknown)
        assert hint.pure is None
        assert hint.reasons


def test_what_a_function_makes_itself_it_may_change():
    kept, rows = np.zeros(9), [[1, 2], [3]]

    def fills(x):
        out = np.zeros((2, 9), np.float32)
        for i, row in enumerate(rows):
            for n in row:
                out[i, n] += 1.0
        return out + x

    def collects(x):
        made = []
        made.append(x)
        made += rows[0]
        return np.stack(made)

    def opens(x):
        with open(os.path.join("folder", str(x)), "rb") as file:
            return np.frombuffer(file.read(), np.uint8)

    def an_argument(x):
        x[0] = 1
        return x + kept

    def another_name(x):
        out = np.zeros(3)
        out = kept
        out[0] = x
        return out

    def one_of_its_items(x):
        made = [kept]
        made[0][1] = x
        return made

    def by_a_loop(x):
        for row in rows:
            row.append(x)
        return x

    def writes(x):
        with open("log", "a") as file:
            file.write(str(x))
        return x

    def of_others(x):
        for a in kept.copy(), rows:
            rows[0][0] = a
        return x

    for clean in (fills, collects):
        assert purity(clean) == Purity(True)
    assert purity(opens) == Purity(True, opens=True)
    unclean = (an_argument, another_name, one_of_its_items, by_a_loop, writes)
    for doubtful in (*unclean, of_others):
        assert purity(doubtful).pure is not True


class Counter:
    """Whatever it is asked, it counts."""

    total = 0

    def __init__(self):
        self.n = 0
        self.rng = np.random.RandomState(1)

    def get(self, x):
        self.n += 1
        return x + self.n

    def draw(self):
        return self.rng.rand()

    @property
    def next(self):
        return self.get(1)

    def __call__(self, x):
        return self.get(x)

    def __getitem__(self, x):
        return self.get(x)

    def __len__(self):
        return self.get(1)

    def __radd__(self, x):
        return self.get(x)


class Settings:
    """It is asked for its values, and computes with them."""

    def __init__(self, size):
        self.size = size
        self.words = {"a": 1}

    @property
    def half(self):
        return self.size // 2

    def code(self, word):
        return self.words.get(word, 0) * self.half


class Quiet:
    """It only computes when it is called; asked otherwise, it counts."""

    def __init__(self):
        self.seen = []

    def __call__(self, x):
        return x

    def __radd__(self, x):
        self.seen.append(x)
        return x

    def get(self, x):
        self.seen.append(x)
        return x


class Counted:
    """What an object has under the same name is never asked."""

    def __get__(self, *_):
        counter.n += 1
        return counter.n

    def __set__(self, *_):
        pass


class Described:
    rate = Counted()

    def __init__(self):
        vars(self)["rate"] = 1

    def half(self):
        return 2


def of_a_module_of_that_name():
    """An object of a file of the user's that is called `html`."""
    return type("Escape", (), {"__module__": "html", "__call__": Counter.get, "n": 0})()


counter, settings = Counter(), Settings(4)
quiet_object, described, escape = Quiet(), Described(), of_a_module_of_that_name()
callback = None
held, boxes = [counter], {"box": counter}
state, table = {"n": 0}, np.arange(9)
defaults = collections.defaultdict(int)
variable_like = types.SimpleNamespace(size=3)


class Key:
    def __call__(self, x):
        return -x


quiet_key = Key()


def counting(function):
    calls = []

    @functools.wraps(function)
    def wrapper(*args):
        calls.append(args)
        return function(*args) + len(calls)

    return wrapper


def quiet(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@counting
def decorated(x):
    return x


@quiet
def decorated_quietly(x):
    return x * 2


@functools.lru_cache(maxsize=4)
def remembered(x):
    return x * 2


def by_default(x, kept=[0]):  # noqa: B006
    kept[0] += 1
    return x + kept[0]


def by_default_object(x, kept=counter):
    return x + kept.get(x)


def imports(x):
    import random

    return x + random.random()


def alias(x):
    call = counter.get
    return call(x)


def shadowed(x):
    total = [counter for counter in x]
    return len(total) + counter.get(x)


def in_place(x):
    x += 1
    return x


def into(x):
    return np.add(x, 1, table)


def into_by_name(x):
    return np.clip(x, 0, 1, out=table)


def deletes(x):
    del state["n"]
    return x


def a_class_of_its_own(x):
    class Box:
        pass

    return Box()


def reads_environment(x):
    return x + len(os.environ["HOME"])


def prints(x):
    print(x)
    return x


def walrus(x):
    return (y := counter.get)(x) + y(x)


IMPURE = [
    *(decorated, by_default, by_default_object, imports, alias, shadowed, in_place),
    *(into, into_by_name, deletes, a_class_of_its_own, reads_environment, prints),
    *(walrus, counter, counter.get, functools.partial(counter.get, 1)),
    lambda x: counter.get(x),
    lambda x: counter(x),
    lambda x: x + counter.next,
    lambda x: x + counter.draw(),
    lambda x: x + counter,
    lambda x: counter[x],
    lambda x: len(counter) + x,
    lambda x: held[0].get(x),
    lambda x: boxes["box"].get(x),
    lambda x: np.vectorize(counter.get)(x),
    lambda x: sorted(x, key=counter.get),
    lambda x: (lambda y: y.get(x))(counter),
    lambda x: defaults[x],
    lambda x: setattr(counter, "n", x),
    lambda x: state.update(n=x) or x,
    lambda x: state.pop("n") + x,
    lambda x: [state.setdefault(k, 1) for k in x],
    lambda x: table.sort() or x,
    lambda x: table.fill(x) or x,
    lambda x: counter.get(x),
    lambda x: eval("counter.get(x)"),
    lambda x: type(counter).total + counter.get(x),
    lambda x: id(x),
    lambda x: x.tofile("x"),
    lambda x: np.save("x", x),
    lambda x: np.random.default_rng().normal() + x,
    lambda x: os.listdir(x),
    lambda x: str(x).upper.__self__,
    lambda x: x + quiet_object,
    lambda x: (lambda y: y.get(x))(quiet_object),
    lambda x: x + described.rate,
    lambda x: escape(x),
]
PURE = [
    *(decorated_quietly, remembered),
    lambda x: settings.code(x) + settings.size,
    lambda x: x * settings.half + variable_like.size,
    lambda x: table[x] + len(state) + state["n"],
    lambda x: np.stack([np.sort(row)[::-1] for row in x]).astype(np.float32),
    lambda x: np.add(x, 1),
    lambda x: np.clip(x, 0, 1).mean(axis=0) / 255.0,
    lambda x: [word.lower() for word in x.decode("utf-8").split()],
    lambda x: re.sub("[^a-z]", " ", x.decode().lower()).strip(),
    lambda x: sorted(x, key=lambda y: -y)[:3],
    lambda x: json.loads(x)["n"] if x else {},
    lambda x: functools.reduce(lambda a, b: a * b, x, 1),
    lambda x: hashlib.sha256(x).hexdigest(),
    lambda x: os.path.join("folder", os.path.basename(x)),
    lambda x: np.frombuffer(x, np.uint8).reshape(-1, 3),
    lambda x: np.linalg.norm(x) + math.sqrt(2),
    lambda x: isinstance(x, Counter),
    lambda x: collections.Counter(x).most_common(2),
    lambda x: list(itertools.chain(x, x)),
    lambda x: sorted(x, key=quiet_key),
    lambda x: quiet_object(x),
    lambda x: callback(x) if callback else x,
]


@pytest.mark.parametrize("function", IMPURE, ids=range(len(IMPURE)))
def test_what_may_keep_a_state_is_not_pure(function):
    assert purity(function).pure is not True


@pytest.mark.parametrize("function", PURE, ids=range(len(PURE)))
def test_what_only_computes_is_pure(function):
    assert purity(function) == Purity(True)


def test_tensorflow_in_python():
    tf = pytest.importorskip("tensorflow")
    variable = tf.Variable(0.0)
    draws = tf.random.Generator.from_seed(1)
    layer = tf.keras.layers.Dense(1)
    for function in (
        lambda x: x + tf.random.uniform([]),
        lambda x: x + variable.assign_add(1.0),
        lambda x: x + variable,
        lambda x: x + draws.uniform([]),
        lambda x: tf.nn.dropout(x, 0.5),
        lambda x: tf.print(x),
        lambda x: layer(x),
        tf.function(lambda x: x),
    ):
        assert purity(function).pure is not True
    constant = tf.constant(2.0)
    for function in (
        lambda x: tf.cast(x, tf.float32) / 255.0 + constant,
        lambda x: tf.io.decode_jpeg(x).numpy(),
        lambda x: tf.strings.lower(x),
    ):
        assert purity(function) == Purity(True)


def test_an_object_that_answers_itself_is_not_asked():
    asked = []

    class Asked:
        def __getattribute__(self, name):
            asked.append(name)
            raise AttributeError(name)

    it = Asked()
    assert purity(lambda x: x + it.size).pure is None
    assert purity(lambda x: [it, x]).pure is None
    assert "size" not in asked


def test_what_only_the_class_of_a_class_has_is_unknown():
    assert purity(lambda x: x + len(settings.__mro__)).pure is None


def test_source_that_has_changed_is_not_judged(tmp_path):
    path = tmp_path / "late.py"
    path.write_text("def f(x):\n    return x\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    path.write_text("def f(x):\n    return x + 1\n")
    assert purity(space["f"]).pure is None
    exec("def g(x):\n    return x", space)
    assert purity(space["g"]).pure is None
