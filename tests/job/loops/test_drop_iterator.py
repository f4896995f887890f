"""Iterators that are let go: gone in the end, and nothing else has changed."""

from __future__ import annotations

import gc

import pytest
import tensorflow as tf
from tensorflow.python.data.ops.iterator_ops import OwnedIterator

from feedline.job.loops import drop_iterator
from feedline.job.loops.drop_iterator import without_waiting

pytestmark = pytest.mark.tensorflow


def closing(closed: list[str], name: str) -> tf.data.Dataset:
    """A dataset whose generator says when its iterator is gone."""

    def numbers():
        try:
            yield from range(10**6)
        finally:
            closed.append(name)

    return tf.data.Dataset.from_generator(
        numbers, output_signature=tf.TensorSpec([], tf.int64)
    ).prefetch(tf.data.AUTOTUNE)


class Mine:
    """Only the datasets of this test: iterators that others in this process have
    left behind may be dropped at any moment."""

    def __init__(self, *datasets: tf.data.Dataset) -> None:
        self.datasets = datasets

    def __call__(self, dataset: object) -> bool:
        return any(dataset is one for one in self.datasets)


def test_they_are_gone_at_the_end():
    closed: list[str] = []
    before = list(drop_iterator._inside)  # `feedline.tune` may have been here
    mine = Mine(*(closing(closed, name) for name in "ab"))
    with without_waiting(mine, longest=None) as seconds:
        for dataset in mine.datasets:
            assert int(next(iter(dataset))) == 0
        gc.collect()
    assert sorted(closed) == ["a", "b"]
    assert len(seconds) == 2
    assert min(seconds) > 0
    assert drop_iterator._inside == before
    assert hasattr(OwnedIterator, "__del__") == bool(before)


def test_what_is_still_read_stays():
    with without_waiting():
        batches = iter(tf.data.Dataset.range(5))
        also = batches
        del batches
        assert [int(n) for n in also] == [0, 1, 2, 3, 4]

        @tf.function
        def two(source):
            return next(source) + next(source)

        assert int(two(iter(tf.data.Dataset.range(5)))) == 1
    assert int(two(iter(tf.data.Dataset.range(5)))) == 1


def test_inside_another():
    before = list(drop_iterator._inside)
    mine = Mine(tf.data.Dataset.range(5))
    with without_waiting(mine, longest=None) as outer:
        with without_waiting(mine, longest=None) as inner:
            next(iter(mine.datasets[0]))
        assert (len(outer), len(inner)) == (0, 1)
        assert hasattr(OwnedIterator, "__del__")
    assert drop_iterator._inside == before


def test_of_a_strategy():
    strategy = tf.distribute.OneDeviceStrategy("/CPU:0")
    with without_waiting():
        dataset = strategy.experimental_distribute_dataset(
            tf.data.Dataset.range(6).batch(2)
        )
        assert len(list(dataset)) == 3


def test_what_fails_leaves_the_iterator_to_python(monkeypatch):
    def broken(**_):
        raise tf.errors.InternalError(None, None, "no stage")

    monkeypatch.setattr(tf.raw_ops, "Stage", broken)
    with without_waiting() as seconds:
        assert int(next(iter(tf.data.Dataset.range(5)))) == 0
    assert seconds == []


def test_only_what_nobody_sees_goes_aside():
    counted = tf.Variable(0)
    generator = closing([], "a")
    variable = tf.data.Dataset.range(3).map(lambda n: (n, counted.assign_add(1)))
    drawn = tf.data.Dataset.range(3).map(lambda n: tf.random.uniform([]))
    for dataset, may in ((generator, False), (variable, False), (drawn, True)):
        drop_iterator.look(dataset, 1e9)
        mine = Mine(dataset)
        with without_waiting(
            lambda one, mine=mine: mine(one) and drop_iterator.unseen(one), longest=None
        ) as seconds:
            for _ in range(2):
                next(iter(dataset))
            gc.collect()
        assert len(seconds) == (2 if may else 0)


def test_what_holds_much_is_waited_for():
    few, many = (tf.data.Dataset.range(9).shuffle(n) for n in (1_000, 10_000))
    for dataset in (few, many):
        drop_iterator.look(dataset, 40_000)
    assert drop_iterator.unseen(few)
    assert not drop_iterator.unseen(many)
    assert not drop_iterator.unseen(tf.data.Dataset.range(9))  # nobody had a look
