"""The learning rate is a tensor, and the step is traced once.

Cause: none
Not: retracing
"""

import keras
import numpy as np
import tensorflow as tf

rows = np.random.default_rng(0).random((64_000, 16), dtype=np.float32)
dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
dataset = dataset.repeat(30).batch(64).prefetch(tf.data.AUTOTUNE)
model = keras.Sequential([keras.layers.Dense(16), keras.layers.Dense(1)])
model.build((None, 16))


@tf.function
def train_step(x, y, rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
        variable.assign_sub(rate * gradient)
    return loss


for number, (x, y) in enumerate(dataset):
    train_step(x, y, tf.constant(1.0 / (1 + number)))
