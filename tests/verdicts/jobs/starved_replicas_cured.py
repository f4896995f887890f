"""The same model without a strategy.

Cause: none
Not: starved-replicas
"""

import keras
import numpy as np
import tensorflow as tf

rows = np.random.default_rng(0).random((256_000, 16), dtype=np.float32)
dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
dataset = dataset.batch(16).cache().repeat().prefetch(tf.data.AUTOTUNE)
layers = [keras.layers.Dense(16) for _ in range(10)]
model = keras.Sequential([*layers, keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(dataset, steps_per_epoch=1_000, epochs=20, verbose=0)
