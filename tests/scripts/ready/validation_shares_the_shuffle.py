"""Validation data made from the same shuffled dataset as the training data."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
waves = rng.standard_normal((160, 24_000), dtype=np.float32)
labels = rng.integers(0, 4, 160)


def spectrum(wave, label):
    power = tf.abs(tf.signal.stft(wave, 512, 32))
    return tf.reduce_mean(tf.math.log(power + 1e-3), axis=0), label


every = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrum).shuffle(16)
train, check = every.batch(16), every.take(48).batch(16)
model = keras.Sequential(
    [keras.Input((257,)), keras.layers.Dense(4, activation="softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy")
history = model.fit(train, validation_data=check, epochs=7, verbose=0)
print(history.history)
print([int(y[0]) for _, y in check], [int(y[0]) for _, y in train])
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
