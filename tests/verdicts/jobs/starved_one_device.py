"""MirroredStrategy over a single device, which it can only slow down.

Not by much: starting so small a step costs more than the strategy does.

Cause: launch-overhead | small-batch | starved-replicas
Names: starved-replicas
"""

import keras
import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["CPU:0"])
rows = np.random.default_rng(0).random((256_000, 16), dtype=np.float32)
dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
dataset = dataset.batch(16).cache().repeat().prefetch(tf.data.AUTOTUNE)
with strategy.scope():
    layers = [keras.layers.Dense(16) for _ in range(10)]
    model = keras.Sequential([*layers, keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
model.fit(dataset, steps_per_epoch=1_000, epochs=10, verbose=0)
