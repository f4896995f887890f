"""A Python generator makes the examples, twice as long as the emulated step.

Cause: python-in-pipeline
"""

import tensorflow as tf
from emulated import accelerated_model

FEATURES = tf.TensorSpec([16], tf.float32)
LABEL = tf.TensorSpec([], tf.int64)


def examples():
    for number in range(10_000_000):
        features = [float((number * (k + 1)) % 97) / 97.0 for k in range(16)]
        yield features, number % 10


dataset = tf.data.Dataset.from_generator(examples, output_signature=(FEATURES, LABEL))
dataset = dataset.batch(128).prefetch(tf.data.AUTOTUNE)
model = accelerated_model(ms=0.06)
model.fit(dataset, steps_per_epoch=500, epochs=4, verbose=0)
