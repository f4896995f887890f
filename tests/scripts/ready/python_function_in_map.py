"""A `py_function` in the map that keeps a log of what it was given."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
rows = rng.standard_normal((160, 20_000), dtype=np.float32)
labels = rng.integers(0, 2, 160)
given = []


def ranked(row):
    given.append(float(row[0]))
    return np.sort(row.numpy())[::500] * np.float32(1 + len(given) * 1e-5)


def ready(row, label):
    made = tf.py_function(ranked, [row], tf.float32)
    made.set_shape((40,))
    return made, label


train = tf.data.Dataset.from_tensor_slices((rows, labels)).map(ready)
train = train.batch(10)
model = keras.Sequential([keras.Input((40,)), keras.layers.Dense(1, "sigmoid")])
model.compile("adam", "binary_crossentropy")
print(model.fit(train, epochs=8, verbose=0).history)
print(len(given), sum(given))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
