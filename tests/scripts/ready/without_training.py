"""A script that loads, computes and writes, and never trains."""

import hashlib
import json

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


model = keras.Sequential(
    [keras.Input((257,)), keras.layers.Dense(4, activation="softmax")]
)
data = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrum).batch(32)
made = model.predict(data, verbose=0)
digest("predictions", [made])
with open("answer.json", "w") as file:
    json.dump(made.argmax(axis=1).tolist(), file)
