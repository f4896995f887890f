"""A large embedding trained by Adagrad, its weights saved, loaded and trained on."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
words = rng.integers(0, 40_000, (1200, 12))
labels = rng.integers(0, 2, 1200)


def make():
    model = keras.Sequential(
        [
            keras.Input((12,), dtype="int64"),
            keras.layers.Embedding(40_000, 64, mask_zero=True),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adagrad(0.05), "binary_crossentropy")
    return model


train = tf.data.Dataset.from_tensor_slices((words, labels)).shuffle(1200).batch(32)
model = make()
print(model.fit(train, epochs=6, verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
model.save_weights("words.weights.h5")
model = make()
model.load_weights("words.weights.h5")
print(model.fit(train, epochs=3, verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
