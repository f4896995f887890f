"""The same model, its step compiled.

Cause: none
Not: eager-step
"""

import keras
import numpy as np
import tensorflow as tf

rows = np.random.default_rng(0).random((64_000, 16), dtype=np.float32)
dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
dataset = dataset.batch(32).prefetch(tf.data.AUTOTUNE)
layers = [keras.layers.Dense(16, activation="relu") for _ in range(6)]
model = keras.Sequential([*layers, keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(dataset, epochs=8, verbose=0)
