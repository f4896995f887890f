"""The same function called once a step.

Cause: none
Not: per-element-map
"""

import keras
import numpy as np
import tensorflow as tf

ROWS = 2_000_000
BATCH = 1_024


def scale(row, label):
    return tf.cast(row, tf.float32) / 255.0, label


rows = np.random.default_rng(0).integers(0, 256, size=(ROWS, 16), dtype=np.uint8)
dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1] > 127))
dataset = dataset.batch(BATCH)
dataset = dataset.map(scale, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.prefetch(tf.data.AUTOTUNE)
model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="sgd", loss="binary_crossentropy")
model.fit(dataset, epochs=8, verbose=0)
