"""Handlers that run when Python ends, and an exit from the middle of a function."""

import atexit
import hashlib
import sys

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


def save():
    print("saving at the end")
    model.save_weights("last.weights.h5")
    digest("weights", model.variables)


atexit.register(print, "registered first, said last", flush=True)
atexit.register(save)
model = keras.Sequential(
    [keras.Input((257,)), keras.layers.Dense(4, activation="softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy")
train = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrum)
train = train.shuffle(16).batch(16)


def main():
    loss = model.fit(train, epochs=7, verbose=0).history["loss"]
    print(loss)
    digest("weights", model.variables)
    digest("optimizer", model.optimizer.variables)
    if loss[-1] > 0:
        sys.exit(9)
    print("never said")


main()
