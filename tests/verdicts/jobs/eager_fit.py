"""fit with run_eagerly, left over from a debugging session.

Cause: eager-step
"""

import keras
import numpy as np
import tensorflow as tf

rows = np.random.default_rng(0).random((64_000, 16), dtype=np.float32)
dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
dataset = dataset.batch(32).prefetch(tf.data.AUTOTUNE)
layers = [keras.layers.Dense(16, activation="relu") for _ in range(6)]
model = keras.Sequential([*layers, keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse", run_eagerly=True)
model.fit(dataset, epochs=1, verbose=0)
