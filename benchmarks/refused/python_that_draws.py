"""Any fix behind Python that draws random numbers for each element.

Left: `numpy_function` around Python that draws by `np.random`
Fix: prefetch
Back: draw by `tf.random` in a map of its own
"""

import keras
import numpy as np
import tensorflow as tf

rows = np.random.default_rng(0).standard_normal((480, 4000), dtype=np.float32)


def noisy(row):
    drawn = np.random.standard_normal(row.shape).astype(np.float32)
    return np.sort(row + drawn)


def drawn(row):
    made = tf.numpy_function(noisy, [row], tf.float32)
    return tf.ensure_shape(made, (4000,)), row[:1]


data = tf.data.Dataset.from_tensor_slices(rows).map(drawn).batch(16)
# by hand: data = data.prefetch(1)
model = keras.Sequential(
    [keras.Input((4000,)), keras.layers.Dense(256, "relu"), keras.layers.Dense(1)]
)
model.compile("adam", "mse")
model.fit(data, epochs=4, verbose=2)
