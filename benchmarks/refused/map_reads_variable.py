"""A cache behind a map that reads a variable or a table that can be filled.

Left: a map reads a variable, which the script may change between two epochs
Fix: cache
Back: the other fixes are tried; make it a constant, or cache the map by hand
"""

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
waves = rng.standard_normal((96, 24_000), dtype=np.float32)
labels = rng.integers(0, 4, 96)


def spectrum(wave, label):
    power = tf.abs(tf.signal.stft(wave, 512, 64))
    return tf.reduce_mean(tf.math.log(power + 1e-3), axis=0), label


scale = tf.Variable(0.5)


def scaled(wave, label):
    return spectrum(wave * scale, label)


model = keras.Sequential([keras.Input((257,)), keras.layers.Dense(4, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy")

data = tf.data.Dataset.from_tensor_slices((waves, labels)).map(scaled)
data = data.batch(8)  # by hand: data = data.cache().batch(8)
model.fit(data, epochs=4, verbose=2)
