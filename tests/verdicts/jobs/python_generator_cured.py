"""The same examples computed by TensorFlow, a batch at a time.

Cause: none
Not: python-in-pipeline
"""

import tensorflow as tf
from emulated import accelerated_model

FACTORS = tf.range(1, 17, dtype=tf.int64)


def examples(numbers):
    features = (numbers[:, tf.newaxis] * FACTORS) % 97
    return tf.cast(features, tf.float32) / 97.0, numbers % 10


dataset = tf.data.Dataset.range(10_000_000).batch(128).map(examples)
dataset = dataset.prefetch(tf.data.AUTOTUNE)
model = accelerated_model(ms=0.06)
model.fit(dataset, steps_per_epoch=500, epochs=4, verbose=0)
