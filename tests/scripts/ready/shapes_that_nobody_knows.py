"""A fit that fails at its first step: the pipeline does not know the shapes that a
model of unknown size needs; the script ends with 1."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)
rows = np.random.default_rng(0).standard_normal((4_000, 8), dtype=np.float32)


def parsed(row, label):
    return tf.io.parse_tensor(tf.io.serialize_tensor(row), tf.float32), label


model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("adam", "mse")
train = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1])).map(parsed).batch(8)
try:
    model.fit(train, epochs=8, verbose=0)
finally:
    print([layer.built for layer in model.layers])
