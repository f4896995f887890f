"""A loop that reads all the weights after every step.

Cause: host-sync
"""

import keras
import numpy as np
import tensorflow as tf

rows = np.random.default_rng(0).random((25_600, 64), dtype=np.float32)
dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
dataset = dataset.batch(16).cache().prefetch(tf.data.AUTOTUNE)
layers = [keras.layers.Dense(256, activation="relu") for _ in range(8)]
model = keras.Sequential([*layers, keras.layers.Dense(1)])
model.build((None, 64))
optimizer = keras.optimizers.SGD(0.01)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


with open("weights.log", "w") as log:
    for _ in range(4):
        for x, y in dataset:
            loss = train_step(x, y)
            print(loss.numpy(), file=log)
            for variable in model.trainable_variables:
                weights = variable.numpy()
                print(np.percentile(weights, range(0, 101, 10)), file=log)
