"""Two examples a step, for a model whose weights take longer than they do.

Cause: small-batch
"""

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
rows = rng.random((4_096, 64), dtype=np.float32)
dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
dataset = dataset.repeat().batch(2).prefetch(tf.data.AUTOTUNE)
wide = [keras.layers.Dense(2_048, activation="relu") for _ in range(3)]
model = keras.Sequential([*wide, keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(dataset, steps_per_epoch=100, epochs=20, verbose=0)
