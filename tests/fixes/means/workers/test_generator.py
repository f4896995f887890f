"""Generators in another process give what they gave here."""

import itertools
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tests.fixes.means.workers.meeting import wait_for
from tests.fixes.means.workers.values import values
from tests.place import wait_until

from feedline.fixes.means.workers import Refused
from feedline.fixes.means.workers.generator import generator_ahead
from feedline.job.tfdata.pipeline import Pipeline
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild

pytestmark = pytest.mark.tensorflow


def ahead(generator, *args, signature=None, **kwargs):
    signature = signature or tf.TensorSpec([], tf.int64)
    dataset = tf.data.Dataset.from_generator(
        generator, output_signature=signature, **kwargs
    )
    pipeline = read(dataset)
    made = generator_ahead(pipeline.root, *args)
    return dataset, rebuild(Pipeline(made.stage())), made


def test_generator_is_the_same():
    def numbers(times):
        for n in range(int(times)):
            small, large = np.full(3, n, np.float32), np.full(20_000, n, np.int16)
            yield {"b": small, "l": large}, (f"text {n}", n)

    signature = (
        {"b": tf.TensorSpec([3]), "l": tf.TensorSpec([None], tf.int16)},
        (tf.TensorSpec([], tf.string), tf.TensorSpec([], tf.int64)),
    )
    dataset, moved, made = ahead(numbers, signature=signature, args=(25,))
    assert moved.element_spec == dataset.element_spec
    for _ in range(2):
        assert values(moved) == values(dataset)
    assert values(moved.repeat(2).skip(20).take(9)) == values(
        dataset.repeat(2).skip(20).take(9)
    )
    assert made.broken is None


def test_generator_that_uses_one_array_again():
    """Here TensorFlow may see it change; a process of its own sends it at once."""

    def reusing(size):
        array = np.zeros(int(size), np.int64)
        for n in range(100):
            array[:] = n
            yield array

    for size in (3, 10_000):
        signature = tf.TensorSpec([None], tf.int64)
        _, moved, _ = ahead(reusing, signature=signature, args=(size,))
        assert [int(one[-1]) for one in moved] == list(range(100))


def test_generator_runs_elsewhere_and_ends_early(tmp_path, monkeypatch):
    # A process that does not end by itself is ended: here it has time to.
    monkeypatch.setattr("feedline.fixes.means.workers.process._END_S", 120.0)
    cleaned = tmp_path / "cleaned"

    def endless():
        try:
            for n in itertools.count():
                yield os.getpid() if n % 2 else n
        finally:
            cleaned.touch()

    _, moved, _ = ahead(endless)
    seen = [int(n) for n in moved.take(5)]
    assert seen[0::2] == [0, 2, 4]
    assert seen[1] == seen[3] != os.getpid()
    assert wait_until(cleaned.exists, 120)


def test_generator_raises():
    def failing():
        yield 1
        raise ValueError("no more of these")

    _, moved, made = ahead(failing)
    seen = []
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"no more of these[^$]*in failing"
    ):
        seen.extend(map(int, moved))
    assert seen == [1]
    assert made.broken is None


def test_generator_process_is_killed(tmp_path):
    killed = str(tmp_path / "killed")

    def counting():
        for n in range(60):
            time.sleep(0.003)  # slow ones are sent one by one
            if n == 40:  # it is not at its end when it is killed
                wait_for(killed)
            yield n

    _, moved, made = ahead(counting)
    seen = []
    for n in moved:
        seen.append(int(n))
        if len(seen) == 20:
            os.kill(made.children[0].pid, signal.SIGKILL)
            Path(killed).touch()
    assert seen == list(range(60))
    assert "died" in made.broken


def test_generator_refused():
    one_shot = iter(range(5))
    for generator, why in (
        (lambda: one_shot, "iterator"),
        (lambda: (tf.constant(n) for n in range(3)), "TensorFlow"),
    ):
        with pytest.raises(Refused, match=why):
            ahead(generator)
