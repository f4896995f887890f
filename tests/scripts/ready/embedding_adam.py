"""A large embedding trained by Adam: no exact fix touches its rows."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
words = rng.integers(0, 30_000, (800, 12))
labels = rng.integers(0, 2, 800)
model = keras.Sequential(
    [
        keras.Input((12,), dtype="int64"),
        keras.layers.Embedding(30_000, 32),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
train = tf.data.Dataset.from_tensor_slices((words, labels)).shuffle(800).batch(16)
print(model.fit(train, epochs=5, verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
