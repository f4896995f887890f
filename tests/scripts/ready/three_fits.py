"""Three fits, each on a pipeline of its own; the budget is for all of them."""

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


def narrow(wave, label):
    return spectrum(wave[:18_000], label)


def quiet(wave, label):
    return spectrum(wave * 0.1, label)


model = keras.Sequential(
    [keras.Input((257,)), keras.layers.Dense(4, activation="softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy")
data = tf.data.Dataset.from_tensor_slices((waves, labels))
for number, function in enumerate((spectrum, narrow, quiet)):
    train = data.map(function).shuffle(16).batch(8 * (number + 1))
    history = model.fit(train, epochs=5, verbose=0)
    print(function.__name__, history.history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
