"""What a `tf.data.Dataset` reads as, and that reading leaves no trace."""

import functools
import os
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.job.cases import (
    CASES,
    OPTIONS,
    Unheard,
    generate,
    numbers,
    options,
    twice,
)
from tests.job.elements import epochs, ops

from feedline.errors import FeedlineError
from feedline.job.tfdata.pipeline import Stage, TensorSpec, Where
from feedline.job.tfdata.read import read

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("no_seed")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_operation_reads_under_its_public_name(case, files):
    pipeline = read(case.make(files))
    assert ops(pipeline) == case.ops
    shown = {name: pipeline.root.args.get(name, "missing") for name in case.args}
    assert shown == case.args


def test_a_whole_pipeline():
    dataset = numbers(10).shuffle(4, seed=1).map(twice).batch(3).prefetch(-1)
    pipeline = read(dataset.with_options(options()))
    assert pipeline.cardinality == 4
    assert pipeline.options == OPTIONS
    labels = [stage.label() for stage in pipeline.stages()]
    assert labels == [
        "range()",
        "shuffle(4)",
        "map(twice)",
        "batch(3)",
        "prefetch(AUTOTUNE)",
        "with_options()",
    ]
    assert pipeline.root.spec == (TensorSpec("int64", (None,)),)


def test_specs_of_rich_elements():
    dataset = tf.data.Dataset.from_tensors(
        {
            "dense": tf.zeros([2, 3]),
            "ragged": tf.ragged.constant([[1], [2, 3]]),
            "sparse": tf.sparse.eye(4),
            "text": "x",
        }
    )
    assert read(dataset).root.spec == (
        TensorSpec("float32", (2, 3)),
        TensorSpec("int32", (2, None)),
        TensorSpec("float32", (4, 4)),
        TensorSpec("string", ()),
    )
    window = read(numbers().window(2)).root.spec
    assert window == (TensorSpec("variant", None),)


def test_no_options_set_is_no_options():
    assert read(numbers()).options == {}


# Functions


class Scale:
    def __call__(self, x):
        return x * 3

    def method(self, x):
        return x * 3


def with_noise(x):
    return x + tf.random.uniform([], maxval=3, dtype=tf.int64)


def function_of(dataset):
    (function,) = read(dataset).root.functions
    return function


@pytest.mark.parametrize(
    ("func", "name"),
    [
        (twice, "twice"),
        (lambda x: x, "lambda"),
        (functools.partial(tf.pow, y=2), "pow"),
        (functools.partial(functools.partial(lambda y, x: x + y), 2), "lambda"),
        (tf.function(with_noise), "with_noise"),
        (Scale(), "Scale"),
        (Scale().method, "method"),
        (keras.layers.Rescaling(0.5), "Rescaling"),
    ],
)
def test_function_names(func, name):
    assert function_of(numbers().map(func)).name == name


def test_function_lines():
    where = function_of(numbers().map(with_noise)).where
    assert where is not None
    assert Path(where.file).samefile(__file__)
    assert where.code == "def with_noise(x):"
    assert function_of(numbers().map(tf.negative)).where is None  # not the user's


def test_ops_of_nested_functions_count():
    def nested(x):
        return tf.cond(x > 3, lambda: with_noise(x), lambda: x)

    function = function_of(numbers().map(tf.function(nested)))
    assert function.ops["RandomUniformInt"] == 1
    assert function.ops["Greater"] == 1
    assert "Placeholder" not in function.ops
    assert function.random


def test_random_functions():
    generator = tf.random.Generator.from_seed(1)
    flip = keras.layers.RandomFlip(seed=1)

    def is_random(func):
        return function_of(numbers().map(func)).random

    assert is_random(with_noise)
    assert is_random(lambda x: generator.uniform([]))
    assert is_random(lambda x: flip(tf.zeros([4, 4, 3]), training=True))
    assert is_random(lambda x: tf.image.random_flip_up_down(tf.zeros([4, 4, 3])))
    assert not is_random(twice)
    assert not is_random(lambda x: tf.random.stateless_uniform([], [x, x]))
    shuffled = numbers().interleave(lambda x: tf.data.Dataset.range(x).shuffle(3))
    assert function_of(shuffled).random


def test_stateful_functions():
    variable = tf.Variable(1, dtype=tf.int64)
    table = keras.layers.StringLookup(vocabulary=["1", "2"])
    other = numbers().shuffle(3)

    def is_stateful(func):
        return function_of(numbers().map(func)).stateful

    assert is_stateful(variable.assign_add)
    assert is_stateful(lambda x: x + variable)
    assert is_stateful(with_noise)
    assert not is_stateful(twice)
    assert not is_stateful(lambda x: table(tf.strings.as_string(x)))
    assert not is_stateful(lambda x: tf.io.read_file(tf.strings.as_string(x)))
    assert function_of(numbers().flat_map(lambda x: other)).stateful


def test_python_functions():
    def python(x):
        return tf.py_function(lambda y: y, [x], tf.int64)

    def numpy(x):
        return tf.numpy_function(lambda y: y, [x], tf.int64)

    assert function_of(numbers().map(python)).python
    assert function_of(numbers().map(numpy)).python
    assert not function_of(numbers().map(twice)).python


def test_a_generator_is_python_of_the_users():
    dataset = tf.data.Dataset.from_generator(
        generate, output_signature=tf.TensorSpec([None], tf.int32)
    )
    stage = read(dataset).root
    assert stage.python
    assert stage.label() == "from_generator(generate)"


# Facts of a stage


@pytest.mark.parametrize(
    ("dataset", "random"),
    [
        (lambda f: numbers().shuffle(9), True),
        (lambda f: numbers().shuffle(1), False),
        (lambda f: tf.data.Dataset.random(), True),
        (lambda f: tf.data.Dataset.list_files(str(f / "*.txt")), True),
        (lambda f: tf.data.Dataset.list_files(str(f / "*.txt"), shuffle=False), False),
        (lambda f: tf.data.Dataset.sample_from_datasets([numbers(), numbers()]), True),
        (lambda f: numbers().map(with_noise), True),
        (lambda f: numbers().map(twice), False),
        (lambda f: numbers().shuffle(9).map(twice), False),
    ],
)
def test_random_stages(dataset, random, files):
    assert read(dataset(files)).root.random is random


def test_rereadable(files):
    def generated(*_):
        spec = tf.TensorSpec([None], tf.int32)
        return tf.data.Dataset.from_generator(generate, output_signature=spec)

    def chosen(choice):
        return tf.data.Dataset.choose_from_datasets([numbers(), numbers()], choice)

    os.mkfifo(files / "pipe")
    opaque = tf.data.experimental.from_variant(
        tf.data.experimental.to_variant(numbers()), tf.TensorSpec([], tf.int64)
    )
    assert read(numbers().map(twice)).rereadable
    assert read(tf.data.TextLineDataset(str(files / "0.txt"))).rereadable
    assert read(chosen(tf.data.Dataset.range(2))).rereadable
    assert not read(
        chosen(generated().map(lambda x: tf.cast(x[0], tf.int64)))
    ).rereadable
    assert read(generated().batch(1)).rereadable
    assert not read(numbers().flat_map(generated)).rereadable
    assert not read(tf.data.TextLineDataset(str(files / "pipe"))).rereadable
    assert not read(opaque).rereadable


def test_inner_pipelines(files):
    names = tf.data.Dataset.list_files(str(files / "*.tfrecord"))
    inner = read(names.interleave(tf.data.TFRecordDataset)).root.inner
    assert inner == Stage("tfrecord")
    assert read(numbers().map(twice)).root.inner is None


def test_the_line_that_made_a_stage():
    source = numbers()
    dataset = source.batch(2)
    dataset._feedline_where = Where("train.py", 7, "dataset.batch(2)")
    stage = read(dataset).root
    assert str(stage.where) == "train.py:7"
    assert stage.inputs[0].where is None


def test_what_is_not_known_is_kept():
    pipeline = read(Unheard(numbers().map(twice)).batch(2))
    assert ops(pipeline) == ["range", "map", "opaque", "batch"]
    assert pipeline.root.inputs[0].args == {"class": "Unheard"}


def test_a_branch_that_is_used_twice_is_read_once():
    shared = numbers().cache()
    root = read(tf.data.Dataset.zip((shared.map(twice), shared))).root
    assert root.inputs[0].inputs[0] is root.inputs[1]


def test_a_long_pipeline():
    """Longer than Python's own calls may be deep."""
    dataset, more = numbers(1), sys.getrecursionlimit() + 50
    other = numbers(1)
    for _ in range(more):
        dataset = dataset.concatenate(other)
    assert read(dataset).cardinality == 1 + more


def test_version_one_datasets():
    dataset = tf.compat.v1.data.Dataset.range(4).map(twice).batch(2)
    assert ops(read(dataset)) == ["range", "map", "batch"]


def test_data_service():
    service = tf.data.experimental.service
    dispatcher = service.DispatchServer()
    address = dispatcher.target.split("://")[1]
    worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
    dataset = numbers().apply(service.distribute("parallel_epochs", dispatcher.target))
    stage = read(dataset).root
    assert stage.op == "distribute"
    assert stage.args["service"] == address
    assert not stage.rereadable
    del worker


@pytest.mark.parametrize("thing", [[1, 2], None, "x"])
def test_only_datasets_are_read(thing):
    with pytest.raises(FeedlineError, match=type(thing).__name__):
        read(thing)


def test_a_dataset_that_exists_only_inside_a_function():
    @tf.function
    def inside():
        with pytest.raises(FeedlineError, match=r"inside a tf\.function"):
            read(numbers())

    inside()


# Reading leaves no trace


def test_nothing_is_run():
    ran = []

    def note(x):
        ran.append("function")
        return x

    def produce():
        ran.append("generator")
        yield 1

    dataset = tf.data.Dataset.from_generator(
        produce, output_signature=tf.TensorSpec([], tf.int32)
    )
    dataset = dataset.map(note).map(lambda x: tf.numpy_function(note, [x], tf.int32))
    dataset = dataset.interleave(tf.data.Dataset.from_tensors, num_parallel_calls=2)
    ran.clear()
    read(dataset)
    assert ran == []


def test_which_generators_may_be_started_once_more():
    rows, taken, counter = np.arange(9), [], tf.Variable(0)
    left, shuffled = iter(range(9)), numbers().shuffle(9)

    def anew():
        for row in range(len(rows)):
            yield rows[row] + 1

    def noting():
        taken.append(1)
        yield 1

    def counting():
        yield counter.assign_add(1)

    def from_a_file():
        with open("perhaps a pipe") as file:
            for line in file:
                yield int(line)

    def of_a_dataset():
        yield from shuffled

    def again(function):
        spec = tf.TensorSpec([], tf.int64)
        return read(
            tf.data.Dataset.from_generator(function, output_signature=spec)
        ).rereadable

    assert again(anew)
    for other in (noting, counting, from_a_file, of_a_dataset, lambda: left):
        assert not again(other)


def test_no_seed_is_drawn():
    def draws(look):
        tf.random.set_seed(1)
        dataset = numbers().shuffle(9).map(with_noise).shuffle(9)
        dataset = tf.data.Dataset.sample_from_datasets([dataset, numbers()])
        look(dataset)
        return (
            float(tf.random.uniform([])),
            epochs(dataset),
            epochs(numbers().shuffle(9)),
        )

    assert draws(read) == draws(lambda dataset: None)
