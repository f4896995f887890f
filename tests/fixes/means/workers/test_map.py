"""Maps in other processes give what they gave here, and never hang the job."""

import functools
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.fixes.means.workers.meeting import meet, wait_for
from tests.fixes.means.workers.values import values

from feedline.fixes.means.workers import Refused
from feedline.fixes.means.workers.function import parallel_python_map
from feedline.fixes.means.workers.pool import Pool
from feedline.fixes.means.workers.process import Channel
from feedline.job.source.uses import tensorflow_in
from feedline.job.tfdata.pipeline import Pipeline
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild

pytestmark = pytest.mark.tensorflow


def in_workers(dataset, workers=2, **kwargs):
    pipeline = read(dataset)
    made = parallel_python_map(pipeline.root, workers, **kwargs)
    args = {
        **pipeline.root.args,
        "func": made.func,
        "num_parallel_calls": made.calls,
        "deterministic": True,
    }
    return rebuild(Pipeline(replace(pipeline.root, args=args))), made


@pytest.mark.parametrize("size", [64, 10**6])
def test_shipped(size):
    region = Channel(size).region
    for value in (
        (),
        np.arange(1000.0),
        np.asfortranarray(np.arange(12).reshape(3, 4)),
        {"a": [np.zeros((0, 3)), b"x" * 20_000], "b": (None, "text", 3, True)},
        np.array([b"a\0", "b", None], object),
        tf.bfloat16.as_numpy_dtype(1.5) * np.ones(3, tf.bfloat16.as_numpy_dtype),
        np.float32(2)[None] * np.arange(5000, dtype=np.float32)[::2],
    ):
        there = region.take(region.put(value))
        assert repr(there) == repr(value)


def test_map_is_the_same(tmp_path):
    folder, job = str(tmp_path), os.getpid()

    def where(x):
        meet(folder, job)
        return x * 2 + 1, np.int64(os.getpid())

    def around(n):
        doubled, pid = tf.numpy_function(where, [n], [tf.int64, tf.int64])
        doubled.set_shape([])
        return {"x": tf.cast(doubled, tf.float32) / 3.0, "n": n}, pid

    dataset = tf.data.Dataset.range(60).map(around)
    remade, made = in_workers(dataset)
    assert remade.element_spec == dataset.element_spec
    assert int(remade.cardinality()) == 60
    for _ in range(2):
        old, new = values(dataset), values(remade)
        assert [one[:2] for one in new] == [one[:2] for one in old]
        assert {one[2] for one in old} == {os.getpid()}
        assert len({one[2] for one in new} - {os.getpid()}) == 2
    assert made.broken is None
    assert made.purity.pure is None  # it reads the number of its process
    made.close()
    assert [one[:2] for one in values(remade)] == [one[:2] for one in values(dataset)]


def test_strings_captures_and_nested_functions():
    table = tf.constant([10, 20, 30])

    @tf.function
    def inner(text, n):
        joined = tf.numpy_function(
            lambda text, n: b"|".join([text, *[b"x"] * int(n)]), [text, n], tf.string
        )
        return tf.strings.length(joined), joined

    def outer(text, n):
        length, joined = inner(text, n)
        return tf.gather(table, n) + length, joined, text

    dataset = tf.data.Dataset.from_tensor_slices(([b"a\0b", b"", "é"], [0, 1, 2]))
    dataset = dataset.map(outer)
    remade, made = in_workers(dataset)
    assert values(remade) == values(dataset)
    assert made.broken is None
    made.close()


def test_py_function():
    def scaled(x, name):
        return x.numpy() * 2.5, name.numpy() + b"!" * x.shape[0]

    def call(x):
        return tf.py_function(scaled, [x, "name"], [tf.float32, tf.string])

    dataset = tf.data.Dataset.from_tensor_slices(np.ones((9, 3), np.float32)).map(call)
    remade, made = in_workers(dataset)
    assert values(remade) == values(dataset)
    assert made.broken is None
    assert made.purity.pure is not False
    made.close()


def test_a_tensor_is_not_an_array():
    """Arithmetic on tensors is TensorFlow's: the job computes it itself."""
    dataset = tf.data.Dataset.range(5).map(
        lambda n: tf.py_function(lambda x: x + 1, [n], tf.int64)
    )
    remade, made = in_workers(dataset)
    assert values(remade) == values(dataset)
    assert "worker" in made.broken


def test_exceptions_are_the_jobs_own():
    def picky(n):
        if n == 5:
            raise KeyError("five")
        return n

    dataset = tf.data.Dataset.range(9).map(
        lambda n: tf.numpy_function(picky, [n], tf.int64)
    )
    remade, made = in_workers(dataset)
    seen = []
    with pytest.raises(tf.errors.UnknownError, match=r"KeyError: 'five'[^$]*in picky"):
        seen.extend(map(int, remade))
    assert seen == [0, 1, 2, 3, 4]
    assert made.broken is None
    made.close()


def test_a_killed_worker(tmp_path):
    killed = str(tmp_path / "killed")

    def slow(n):
        if n >= 20:  # the workers are not ready when one is killed
            wait_for(killed)
        return n

    dataset = tf.data.Dataset.range(40).map(
        lambda n: tf.numpy_function(slow, [n], tf.int64)
    )
    remade, made = in_workers(dataset)
    got = []
    for element in remade:
        got.append(int(element))
        if len(got) == 5:
            os.kill(made.pools[0]._children[0].pid, signal.SIGKILL)
            Path(killed).touch()
    assert got == list(range(40))
    assert "died" in made.broken
    assert values(remade) == values(dataset)


def test_a_hanging_worker():
    lock = threading.Lock()

    def careful(n):
        with lock:
            return n + 1

    with pytest.raises(Refused, match="lock"):
        parallel_python_map(
            read(
                tf.data.Dataset.range(5).map(
                    lambda n: tf.numpy_function(careful, [n], tf.int64)
                )
            ).root
        )
    with lock:  # forked while it is held, as by another thread
        pool = Pool(careful, 1, patience=0.5)
    assert pool.call((3,), lambda: careful(3)) == 4
    assert "not answered" in pool.broken
    assert pool.call((4,), lambda: careful(4)) == 5


def test_refused():
    model = keras.Sequential([keras.layers.Dense(1)])
    variable = tf.Variable(1)

    def with_op(n):
        return tf.constant(1).numpy() + n

    def with_model(n):
        return model(n)

    def with_variable(n):
        return n + variable.numpy()

    for function in (with_op, with_model, with_variable, functools.partial(with_op)):
        assert tensorflow_in(function)
        dataset = tf.data.Dataset.range(5).map(
            lambda n, function=function: tf.numpy_function(function, [n], tf.int64)
        )
        with pytest.raises(Refused, match="TensorFlow"):
            parallel_python_map(read(dataset).root)
    with pytest.raises(Refused, match="no Python"):
        parallel_python_map(read(tf.data.Dataset.range(5).map(lambda n: n)).root)


def test_tensorflow_in_a_worker_is_the_jobs_turn():
    def hidden(n):
        return sys.modules["tensor" + "flow"].constant(n).numpy() + 1

    pool = Pool(hidden, 1)
    assert pool.call((3,), lambda: hidden(3)) == 4
    assert "TensorFlowUsed" in pool.broken


# What can be seen of a function
