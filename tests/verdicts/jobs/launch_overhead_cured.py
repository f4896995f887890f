"""The same model, 32 steps in one call.

Cause: none
Not: launch-overhead
"""

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
rows = rng.random((256_000, 8), dtype=np.float32)
dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
dataset = dataset.batch(256).cache().repeat().prefetch(tf.data.AUTOTUNE)
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse", steps_per_execution=32)
model.fit(dataset, steps_per_epoch=3_200, epochs=40, verbose=0)
