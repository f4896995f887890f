"""Python in the map has a decorator, which counts its calls."""

import functools
import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
rows = rng.standard_normal((160, 40_000), dtype=np.float32)
labels = rng.integers(0, 2, 160)


def counted(function):
    calls = []

    @functools.wraps(function)
    def wrapper(row):
        calls.append(1)
        return function(row) + np.float32(len(calls) % 5)

    wrapper.calls = calls
    return wrapper


@counted
def ranked(row):
    return np.sort(row)[::1000]


def ready(row, label):
    made = tf.numpy_function(ranked, [row], tf.float32)
    made.set_shape((40,))
    return made, label


train = tf.data.Dataset.from_tensor_slices((rows, labels)).map(ready)
train = train.shuffle(16).batch(10)
model = keras.Sequential([keras.Input((40,)), keras.layers.Dense(1, "sigmoid")])
model.compile("adam", "binary_crossentropy")
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=8, verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
print("calls", len(ranked.calls))
