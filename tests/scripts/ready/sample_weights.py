"""Weights for each sample, made in the map, with weighted metrics."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
rows = rng.standard_normal((320, 20_000), dtype=np.float32)
labels = rng.integers(0, 2, 320)


def quantiles(row, label):
    return tf.sort(row)[::500], label


def weighted(row, label):
    row, label = quantiles(row, label)
    return row, label, tf.where(label > 0, 2.0, 0.5) * tf.abs(row[0])


model = keras.Sequential([keras.Input((40,)), keras.layers.Dense(1, "sigmoid")])
model.compile("adam", "binary_crossentropy", weighted_metrics=["accuracy"])
train = tf.data.Dataset.from_tensor_slices((rows, labels)).map(weighted)
train = train.shuffle(16).batch(16)
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=6, verbose=0).history)
print(model.evaluate(train, verbose=0))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
