"""The same sentences through one function for all lengths.

Cause: none
Not: retracing
"""

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)


def sentences():
    for length in rng.permutation(4_000) + 20:
        yield rng.integers(0, 1_000, size=(32, length))


spec = tf.TensorSpec([32, None], tf.int64)
dataset = tf.data.Dataset.from_generator(sentences, output_signature=spec)
dataset = dataset.prefetch(tf.data.AUTOTUNE)
embedding = keras.layers.Embedding(1_000, 8)
head = keras.layers.Dense(1)
optimizer = keras.optimizers.SGD(0.01)


@tf.function(reduce_retracing=True)
def train_step(words):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(head(tf.reduce_mean(embedding(words), axis=1)) ** 2)
    variables = embedding.trainable_variables + head.trainable_variables
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables, strict=True))
    return loss


for words in dataset:
    train_step(words)
