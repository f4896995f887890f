"""A `tf.function` that is traced once for all shapes while the script trains with it:
nothing can be told.

Each script is a file of its own whose step trains with calls of ever other shapes, by
itself and followed. All that it returns and all its variables must be the same to the
bit, whether the shapes share a trace or not.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.job.loops.unfed import UnfedLoop
from feedline.job.script.watch import Watch
from feedline.job.source import lines, open_shapes
from feedline.measure.clock import SystemClock
from feedline.session.live import shape_choice
from feedline.session.live.shape_choice import ShapeChoice

pytestmark = pytest.mark.tensorflow

numbers = itertools.count()
TESTS = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _not_of_the_script(monkeypatch):
    """Other tests that are loaded here are no part of the scripts that these write."""

    def is_library(file):
        return TESTS in Path(file).parents or lines.is_library(file)

    monkeypatch.setattr(open_shapes, "is_library", is_library)


MODULE = """\
import tensorflow as tf
w = tf.Variable(tf.reshape(tf.range(12.0), [4, 3]) / 7.0)
m = tf.Variable(tf.zeros([4, 3]))
{above}
@tf.function
def step(x, y=None):
    {first}
    with tf.GradientTape() as tape:
        {loss}
    gradient = tape.gradient(loss, w)
    m.assign(0.9 * m + gradient)
    w.assign_sub(0.01 * m)
    return {{"loss": loss, "gradient": gradient}}
"""
LOSS = "loss = tf.reduce_sum(tf.tanh(x @ w) ** 2)"

METHOD = """\
import tensorflow as tf

class Trainer:
    def __init__(self):
        self.w = tf.Variable(tf.ones([4, 3]) / 3.0)

    @tf.function
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(x @ self.w))
        self.w.assign_sub(0.01 * tape.gradient(loss, self.w))
        return loss

trainer = Trainer()
step, w, m = trainer.step, trainer.w, trainer.w
"""

CLOSURE = """\
import tensorflow as tf

def made(rate):
    w = tf.Variable(tf.ones([4, 3]) / 3.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(x @ w))
        w.assign_sub(rate * tape.gradient(loss, w))
        return loss

    return step, w

step, w = made(0.01)
m = w
"""


def plain(loss=LOSS, above="", first="pass"):
    return MODULE.format(loss=loss, above=above, first=first)


@pytest.fixture(autouse=True)
def anywhere(monkeypatch):
    """Pytest changes the code of tests: nobody can tell where it has a `try`."""
    monkeypatch.setattr(shape_choice, "caught", lambda _: False)
    monkeypatch.setattr(shape_choice, "_LEAST_SHARE", -1.0)


def loaded(text, folder):
    path = folder / f"users_shapes_{next(numbers)}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def called(function, *args, **kwargs):
    return function(*args, **kwargs)


def followed(module, allowed=("exact",), told=lambda _: None, expected=False):
    clock = SystemClock()
    loop = UnfedLoop(sys._getframe(), clock)
    loop.epochs = loop.steps_per_epoch = None
    watch = Watch(clock, lambda _: None)
    return ShapeChoice(
        loop, module.step, called, watch, allowed, told, expected=expected
    )


def batches(lengths):
    rng = np.random.default_rng(3)
    for length in lengths:
        yield (tf.constant(rng.standard_normal((length, 4)).astype("float32")),)


def life(text, folder, calls, *, live=False, before=lambda *_: None, **more):
    """All that a training leaves, and what followed it."""
    module = loaded(text, folder)
    follows = followed(module, **more) if live else None
    seen = []
    for number, args in enumerate(calls):
        before(number, module)
        try:
            if follows is None or number == 0:
                result = module.step(*args)
            else:
                result = follows.call(args, {}, sys._getframe())
        except Exception as error:
            seen.append(type(error).__name__)
            continue
        if follows is not None and number == 0:
            follows.first((args, {}), sys._getframe(), 1.0)
        leaves = tf.nest.flatten(result)
        seen.append([np.array(each).tobytes() for each in leaves])
    left = [each.numpy().tobytes() for each in (module.w, module.m)]
    return (seen, left), follows


def unharmed(text, folder, calls, **more):
    calls = list(calls)
    alone, _ = life(text, folder, calls, before=more.get("before", lambda *_: None))
    beside, follows = life(text, folder, calls, live=True, **more)
    assert beside == alone
    return follows


NEW = [5, 9, 3, 17, 8, 6, 11, 30, 2, 5, 9, 17, 30, 6]


@pytest.mark.parametrize("text", [plain(), METHOD, CLOSURE])
def test_new_shapes_share_a_trace(text, tmp_path):
    found = unharmed(text, tmp_path, batches(NEW))
    assert found.phase == "on", found.why_not
    assert found.found.equal
    assert found.found.compared >= 6
    assert found.grade == "exact"
    assert len(found.traces) == 3  # one for each of the first three shapes
    assert found.account.shapes == 6
    assert found.account.steps == 9  # 5 and 9 keep their own


def test_it_takes_arrays_and_lists(tmp_path):
    text = plain("loss = tf.reduce_sum(tf.tanh(x[0] @ w)) + tf.reduce_sum(x[1])")
    calls = [([x[0].numpy(), tf.reduce_sum(x[0], 1)],) for x in batches(NEW)]
    assert unharmed(text, tmp_path, calls).account.shapes == 6


def test_a_length_of_one_or_none_has_its_own_trace(tmp_path):
    lengths = [5, 1, 9, 3, 1, 0, 12]
    found = unharmed(plain(), tmp_path, batches(lengths))
    assert found.phase == "on", found.why_not
    assert found.account.shapes == 1


def test_lengths_that_were_always_equal_must_be_so(tmp_path):
    text = plain("loss = tf.reduce_sum(tf.tanh(x @ w)) + tf.reduce_sum(y)")
    pairs = [(5, 5), (9, 9), (3, 3), (8, 8), (7, 4), (6, 6)]
    calls = [(tf.ones([a, 4]) / 3, tf.ones([b])) for a, b in pairs]
    assert unharmed(text, tmp_path, calls).account.shapes == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (plain(first="print('traced')"), "print"),
        (plain(above="seen = []", first="seen.append(1)"), "append"),
        (
            plain("loss = tf.reduce_sum(x @ w) * (2.0 if x.shape[0] == 9 else 1.0)"),
            ".shape",
        ),
        (plain(first="tf.print('step')"), "print"),
        (plain("loss = tf.reduce_sum(tf.random.normal([3]) * (x @ w)[0])"), "draws"),
        (plain(above="# step.experimental_get_" + "tracing_count()"), "traces"),
        (plain().replace("@tf.function", "@tf.function(jit_compile=True)"), "XLA"),
        (plain().replace("tf.function", "tf.function(reduce_retracing=True)"), "alr"),
    ],
)
def test_it_is_left_alone_with_the_reason(text, reason, tmp_path, capfd):
    module = loaded(text, tmp_path)
    found = followed(module)
    for number, args in enumerate(batches(NEW)):
        if number == 0:
            module.step(*args)
            found.first((args, {}), sys._getframe(), 1.0)
        else:
            found.call(args, {}, sys._getframe())
    assert found.account.steps == 0
    if "already" not in reason and found.phase != "watched":
        assert reason in found.why_not


def test_a_python_value_is_nothing_to_leave_open(tmp_path):
    text = plain("loss = tf.reduce_sum(x @ w) * y")
    calls = [(tf.ones([3, 4]), float(number)) for number in range(8)]
    found = unharmed(text, tmp_path, calls)
    assert found.phase == "watched"
    assert found.account.steps == 0
    assert found.traced_again == 7


def test_where_the_script_would_catch_an_error_nothing_is_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(shape_choice, "caught", lambda _: True)
    found = unharmed(plain(), tmp_path, batches(NEW))
    assert "catch an error" in found.why_not


def test_lengths_that_are_powers_of_two_prove_nothing(tmp_path):
    # To Grappler a division by a known length is a product with its reciprocal, which
    # rounds otherwise unless the length is a power of two.
    text = plain("loss = tf.reduce_sum(x @ w) / tf.cast(tf.shape(x)[0], tf.float32)")
    found = unharmed(text, tmp_path, batches([4, 8, 32, 2, 7, 16, 13, 11, 7, 29]))
    assert found.phase == "over"
    assert found.grade == "numeric"


def test_errors_of_a_new_shape_are_the_scripts_own(tmp_path):
    text = plain("loss = tf.reduce_sum(x @ w) + tf.reduce_sum(tf.reshape(x, [-1, 8]))")
    found = unharmed(text, tmp_path, batches([6, 10, 4, 12, 5, 14, 18]))
    assert found.phase == "closed"
    assert found.account.shapes == 1


def test_what_tracing_looks_at_may_change(tmp_path):
    text = plain("loss = scale * tf.reduce_sum(x @ w)", above="scale = 2.0")

    def change(number, module):
        if number == 6:
            module.scale = 5.0

    lengths = [5, 9, 3, 17, 8, 6, 11, 8, 17, 6, 11, 4, 30]
    found = unharmed(text, tmp_path, batches(lengths), before=change)
    assert found.phase == "on"
    assert found.account.shapes == 3  # which began with the old number
    assert found.account.steps == 6


def test_one_that_comes_to_cost_more_is_taken_off(tmp_path):
    told = []
    calls = [*batches(NEW)]

    def slower(number, module):
        if number == 5:
            follows[0].account.spent += 1e6

    module = loaded(plain(), tmp_path)
    follows = [followed(module)]
    follows[0].lost = told.append
    for number, args in enumerate(calls):
        slower(number, module)
        if number == 0:
            module.step(*args)
            follows[0].first((args, {}), sys._getframe(), 1.0)
        else:
            follows[0].call(args, {}, sys._getframe())
    assert follows[0].phase == "closed"
    assert "longer than tracing" in told[0]


def test_other_bits_need_to_be_allowed(tmp_path):
    text = plain("loss = tf.reduce_sum(x @ w) / tf.cast(tf.shape(x)[0], tf.float32)")
    lengths = [7, 11, 13, 23, 19, 29]
    found = unharmed(text, tmp_path, batches(lengths))
    assert (found.phase, found.grade) == ("over", "numeric")
    assert "it needs --allow numeric" in found.why_not
    allowed = ("exact", "numeric")
    _, found = life(text, tmp_path, batches(lengths), live=True, allowed=allowed)
    assert (found.phase, found.grade) == ("on", "numeric")
    assert found.account.shapes == 3


def test_an_earlier_run_saves_the_first_traces(tmp_path):
    found = unharmed(plain(), tmp_path, batches(NEW), expected=True)
    assert found.phase == "on", found.why_not
    assert len(found.traces) == 1
    assert found.account.shapes == 8


def test_one_without_retracing_is_hardly_touched(tmp_path):
    found = unharmed(plain(), tmp_path, batches([6] * 10))
    assert found.phase == "watched"
    assert found.cost_s < 60
    assert not found.matters


PARTS = (
    "tf.reduce_sum(tf.tanh(x @ w))",
    "tf.reduce_mean((x @ w) ** 2)",
    "tf.reduce_sum(tf.nn.softmax(x @ w, axis=0)[0])",
    "tf.norm(x) * tf.reduce_sum(w)",
    "tf.reduce_sum(tf.cumsum(x @ w)) / tf.cast(tf.size(x), tf.float32)",
    "tf.reduce_max(x @ w)",
    "tf.reduce_sum(tf.transpose(x) @ (x @ w))",
    "tf.math.reduce_std(x @ w)",
    "tf.reduce_sum(tf.concat([x @ w, x @ w * 0.5], 0))",
)


@settings(max_examples=6, deadline=None)
@given(
    parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=3, unique=True),
    lengths=st.lists(st.integers(1, 40), min_size=5, max_size=7),
)
def test_law_with_and_without_it_the_same(parts, lengths, tmp_path_factory):
    """Random steps and shapes: the same variables and returned values to the bit."""
    text = plain(f"loss = {' + '.join(parts)}")
    folder = tmp_path_factory.mktemp("law")
    found = unharmed(text, folder, batches([*lengths, *lengths[::-1]]))
    assert found.grade == "exact" or found.phase == "over"
