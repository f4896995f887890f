"""A large embedding trained by plain SGD: rows that a batch does not touch stay."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
words = rng.integers(0, 60_000, (1200, 12))
labels = rng.integers(0, 2, 1200)
model = keras.Sequential(
    [
        keras.Input((12,), dtype="int64"),
        keras.layers.Embedding(60_000, 64),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(keras.optimizers.SGD(0.5), "binary_crossentropy")
train = tf.data.Dataset.from_tensor_slices((words, labels)).shuffle(1200).batch(32)
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=8, verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
