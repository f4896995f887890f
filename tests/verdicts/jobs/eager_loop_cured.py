"""The same loop, its step compiled.

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
optimizer = keras.optimizers.Adam()
model.build((None, 16))
optimizer.build(model.trainable_variables)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))


for _ in range(12):
    for x, y in dataset:
        train_step(x, y)
