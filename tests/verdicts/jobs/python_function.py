"""Sentences are tokenised in Python, twice as long as the emulated step.

Cause: python-in-pipeline
"""

import numpy as np
import tensorflow as tf
from emulated import accelerated_model

SENTENCES = [f"Number {n} of the {n % 97} sentences, number {n}" for n in range(10_000)]
NUMBER_OF = {str(n): n % 1_000 + 1 for n in range(10_000)}


def tokenise(text):
    words = text.numpy().decode().lower().replace(",", "").split()
    numbers = [NUMBER_OF.get(word, 0) for word in words][:16]
    return np.array(numbers + [0] * (16 - len(numbers)), dtype=np.int64)


def encode(text):
    numbers = tf.py_function(tokenise, [text], tf.int64)
    numbers.set_shape([16])
    return numbers, tf.constant(1)


dataset = tf.data.Dataset.from_tensor_slices(SENTENCES).repeat()
dataset = dataset.map(encode, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(128).prefetch(tf.data.AUTOTUNE)
model = accelerated_model(ms=0.07)
model.fit(dataset, steps_per_epoch=500, epochs=4, verbose=0)
