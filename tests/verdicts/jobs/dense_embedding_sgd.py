"""Keras' plain SGD, which also rewrites the whole table.

Cause: dense-embedding-update
"""

import keras
import numpy as np
import tensorflow as tf

WORDS = 300_000

rng = np.random.default_rng(0)
pairs = rng.integers(0, WORDS, size=(256_000, 2))
dataset = tf.data.Dataset.from_tensor_slices(pairs).repeat().batch(256)
dataset = dataset.prefetch(tf.data.AUTOTUNE)
table = keras.layers.Embedding(WORDS, 100)
table.build(None)
optimizer = keras.optimizers.SGD(0.1)


@tf.function
def train_step(pair):
    with tf.GradientTape() as tape:
        left, right = tf.unstack(table(pair), axis=1)
        loss = tf.reduce_mean(tf.nn.softplus(-tf.reduce_sum(left * right, axis=1)))
    gradients = tape.gradient(loss, table.trainable_variables)
    optimizer.apply_gradients(zip(gradients, table.trainable_variables, strict=True))
    return loss


for number, pair in enumerate(dataset):
    train_step(pair)
    if number == 1_000:
        break
