"""A model so small that starting its step takes longer than the step.

Cause: launch-overhead | small-batch
"""

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
rows = rng.random((256_000, 8), dtype=np.float32)
dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
dataset = dataset.batch(256).cache().repeat().prefetch(tf.data.AUTOTUNE)
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(dataset, steps_per_epoch=3_200, epochs=8, verbose=0)
