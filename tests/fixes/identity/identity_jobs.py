"""A job with one of everything, told in parts: the same in every process."""

from __future__ import annotations

from types import SimpleNamespace

import keras
import numpy as np
import tensorflow as tf

from feedline.fixes.identity.step import step_of
from feedline.job.tfdata.read import read
from feedline.prove.bound import bound

WORDS = {"a", "b", "c", "dd"}
TABLE = {"x": 1, "y": [1, 2, (3, 4)], "far": np.arange(400_000)}


class Scale:
    def __init__(self, factor):
        self.factor, self.unheard = factor, object()

    def __call__(self, x):
        return x * self.factor + helper(x)


def helper(x):
    return tf.cast(len(WORDS) + TABLE["x"], x.dtype)


def branches(x):
    if x > 2.0:
        for i in tf.range(3):
            x += tf.cast(i, tf.float32)
        while x < 100.0:
            x *= 2.0
    return x


def in_python(x):
    return np.asarray(x) + len(WORDS)


def counted():
    for i in range(20):
        yield np.float32(i + TABLE["x"])


def activation(x):
    return tf.nn.relu(x) * 2.0


class Batches(keras.utils.PyDataset):
    def __init__(self):
        super().__init__()
        self.x = np.arange(40.0).reshape(10, 4)

    def __len__(self):
        return 5

    def __getitem__(self, i):
        return self.x[2 * i : 2 * i + 2]


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(3, activation=activation)
        self.seen = keras.metrics.Mean()

    def call(self, x, training=False):
        return self.inner(x)


def datasets():
    numbers = tf.data.Dataset.range(40).map(lambda x: tf.cast(x, tf.float32))
    flips = keras.layers.RandomFlip("horizontal")
    lookup = keras.layers.StringLookup(vocabulary=["a", "b"])
    adapter = __import__(
        "keras.src.trainers.data_adapters.py_dataset_adapter", fromlist=["x"]
    ).PyDatasetAdapter

    def drawn(x):
        picture = tf.reshape(x, [1, 1, 1, 1]) + tf.random.uniform([])
        return tf.random.normal([]) + tf.reduce_sum(flips(picture, training=True))

    yield numbers.map(Scale(3)).shuffle(10).batch(4)
    yield numbers.map(drawn).map(branches, num_parallel_calls=2).batch(4)
    yield tf.data.Dataset.range(9).map(
        lambda x: tf.numpy_function(in_python, [x], tf.int64)
    )
    yield tf.data.Dataset.from_generator(
        counted, output_signature=tf.TensorSpec([], tf.float32)
    )
    yield tf.data.Dataset.from_tensor_slices(["a", "z"]).map(lookup).shuffle(3, seed=1)
    yield (
        tf.data.Dataset.range(5)
        .interleave(
            lambda x: tf.data.Dataset.range(x).map(lambda y: y + 1), cycle_length=3
        )
        .group_by_window(lambda x: x % 2, lambda _, d: d.batch(2), 2)
    )
    yield adapter(Batches(), shuffle=False).get_tf_dataset()


def models():
    net = Net()
    net(tf.zeros([1, 4]))
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
    net.compile(keras.optimizers.Adam(rate), lambda y, p: tf.reduce_mean((y - p) ** 2))
    yield net
    start = keras.Input((4,))
    one = keras.layers.Dense(5, activation=activation)(start)
    two = keras.layers.Lambda(lambda x: x * 2)(one)
    end = keras.layers.Dense(1)(keras.layers.Concatenate()([one, two]) + 1.0)
    made = keras.Model(start, end)
    made.compile("sgd", "mse", metrics=["mae", keras.metrics.MeanSquaredError()])
    yield made


def facts():
    """All that is told, without what the machine is."""
    keras.utils.set_random_seed(3)
    told = {}
    for number, dataset in enumerate(datasets()):
        for part in bound(read(dataset).numbered()).parts:
            if part.key != "machine":
                told[f"{number} {part.key}"] = dict(part.facts)
    for number, model in enumerate(models()):
        loop = SimpleNamespace(
            kind="fit", where=None, model=model, strategy=None, callbacks=()
        )
        told[f"model {number}"] = dict(step_of(loop).facts)
    return told
