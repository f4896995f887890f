"""Where a pass ends: repeats at the end, inside a zip, and inside functions."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import tensorflow as tf

from feedline.causes.asking import passes
from feedline.job.tfdata.constant import why_not_same
from feedline.job.tfdata.endings import endless, repeats, unbounded
from feedline.job.tfdata.read import read

D = tf.data.Dataset


def zipped(*sides: tf.data.Dataset) -> tf.data.Dataset:
    return D.zip(tuple(sides))


NUMBERS, ONE = D.range(7), D.from_tensors(3.0)
ENDING = {
    "plain": NUMBERS.batch(2),
    "one endless side": zipped(NUMBERS, ONE.repeat()),
    "endless side first": zipped(ONE.repeat(), NUMBERS).map(lambda a, b: b),
    "two zips": zipped(zipped(NUMBERS, ONE.repeat()), D.from_tensors(1).repeat()),
    "counted": zipped(NUMBERS, D.counter()),
    "taken": NUMBERS.repeat().take(5),
    "repeated": NUMBERS.repeat(3),
    "joined": NUMBERS.concatenate(NUMBERS.repeat(2)),
}
GOING_ON = {
    "repeated": NUMBERS.repeat().batch(2),
    "all sides": zipped(NUMBERS.repeat(), ONE.repeat()).map(lambda a, b: b),
    "joined": NUMBERS.concatenate(ONE.map(lambda x: tf.cast(x, tf.int64)).repeat()),
    "all taken": NUMBERS.repeat().take(-1),
    "counter": D.counter().map(lambda n: n + 1),
}
SAMPLED = D.sample_from_datasets([NUMBERS.repeat(), NUMBERS.repeat()], seed=1)


@pytest.mark.parametrize("name", ENDING)
def test_what_ends(name: str) -> None:
    root = read(ENDING[name]).root
    assert not endless(root)
    assert not unbounded(root)
    assert int(ENDING[name].cardinality()) != tf.data.INFINITE_CARDINALITY


@pytest.mark.parametrize("name", GOING_ON)
def test_what_may_not_end(name: str) -> None:
    assert endless(read(GOING_ON[name]).root)
    assert "never ends" in (why := why_not_same(read(GOING_ON[name]).root)) or (
        "several times" in why
    )


def test_a_dataset_in_a_function_may_be_endless() -> None:
    inner = NUMBERS.flat_map(lambda n: D.from_tensors(n).repeat())
    assert endless(read(inner).root)
    assert not endless(read(NUMBERS.flat_map(D.from_tensors)).root)


def test_one_side_of_a_zip_is_no_other_pass() -> None:
    assert not repeats(read(zipped(NUMBERS, ONE.repeat()).batch(2)).root)
    assert len(repeats(read(zipped(NUMBERS, ONE).repeat(2).batch(2)).root)) == 1


def test_windows_of_keras_are_the_same_in_every_pass() -> None:
    import keras

    data = tf.random.normal((40, 2)).numpy()
    windows = keras.utils.timeseries_dataset_from_array(
        data, data[:, 0], sequence_length=4, shuffle=True, seed=2
    )
    pipeline = read(windows)
    (shuffle,) = pipeline.find("shuffle")
    assert not why_not_same(shuffle.inputs[0])
    assert "random" in why_not_same(pipeline.root)


def test_a_cache_stands_before_a_repeat_of_everything() -> None:
    assert "several times" in why_not_same(read(NUMBERS.repeat(2).batch(2)).root)
    assert not why_not_same(read(NUMBERS.batch(2)).root)


def test_one_pass_of_what_goes_on() -> None:
    root = read(zipped(zipped(NUMBERS, ONE.repeat()).repeat(), NUMBERS.repeat())).root
    assert [stage.label() for stage in unbounded(root)].count("repeat()") == 2


def test_branches_that_are_each_repeated_are_gone_through_without_end() -> None:
    job = SimpleNamespace(epochs=5, restarts=False, pipeline=read(SAMPLED))
    assert passes(job) == float("inf")
