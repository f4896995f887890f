"""A loop of one's own, compiled, which computes.

Cause: none
"""

import keras
import numpy as np
import tensorflow as tf

rows = np.random.default_rng(0).random((8_192, 512), dtype=np.float32)
dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1])).repeat()
dataset = dataset.batch(1_024).prefetch(tf.data.AUTOTUNE)
layers = [keras.layers.Dense(512, activation="relu") for _ in range(4)]
model = keras.Sequential([*layers, keras.layers.Dense(1)])
model.build((None, 512))
optimizer = keras.optimizers.SGD(0.01)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


for number, (x, y) in enumerate(dataset):
    loss = train_step(x, y)
    if number == 600:
        break
print(float(loss))
