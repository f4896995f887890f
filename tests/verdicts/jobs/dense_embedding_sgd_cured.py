"""The same loop, which writes the rows of the batch and no others.

Cause: none
Not: dense-embedding-update
"""

import numpy as np
import tensorflow as tf

WORDS = 300_000

rng = np.random.default_rng(0)
pairs = rng.integers(0, WORDS, size=(256_000, 2))
dataset = tf.data.Dataset.from_tensor_slices(pairs).repeat().batch(256)
dataset = dataset.prefetch(tf.data.AUTOTUNE)
table = tf.Variable(tf.random.uniform([WORDS, 100], -0.05, 0.05))


@tf.function
def train_step(pair):
    with tf.GradientTape() as tape:
        left, right = tf.unstack(tf.gather(table, pair), axis=1)
        loss = tf.reduce_mean(tf.nn.softplus(-tf.reduce_sum(left * right, axis=1)))
    gradient = tape.gradient(loss, table)
    table.scatter_sub(tf.IndexedSlices(gradient.values * 0.1, gradient.indices))
    return loss


for number, pair in enumerate(dataset):
    train_step(pair)
    if number == 20_000:
        break
