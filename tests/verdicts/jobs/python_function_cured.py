"""The same tokens by TensorFlow's own operations, a batch at a time.

Cause: none
Not: python-in-pipeline
"""

import tensorflow as tf
from emulated import accelerated_model

SENTENCES = [f"Number {n} of the {n % 97} sentences, number {n}" for n in range(10_000)]
WORDS = tf.constant([str(n) for n in range(10_000)])
NUMBERS = tf.range(10_000, dtype=tf.int64) % 1_000 + 1
NUMBER_OF = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(WORDS, NUMBERS), default_value=0
)


def encode(texts):
    words = tf.strings.split(tf.strings.regex_replace(tf.strings.lower(texts), ",", ""))
    numbers = NUMBER_OF.lookup(words.to_tensor("", shape=[None, 16]))
    return numbers, tf.ones(tf.shape(texts), tf.int32)


dataset = tf.data.Dataset.from_tensor_slices(SENTENCES).repeat().batch(128)
dataset = dataset.map(encode, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.prefetch(tf.data.AUTOTUNE)
model = accelerated_model(ms=0.07)
model.fit(dataset, steps_per_epoch=500, epochs=4, verbose=0)
