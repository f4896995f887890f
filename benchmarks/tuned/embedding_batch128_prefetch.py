"""Changed: 50 steps in one launch; numbers are shuffled, sentences gathered.

A step is too short to be launched by itself: `steps_per_execution` pays the launch
once for fifty. The shuffle moves numbers instead of sentences, and a whole batch is
gathered at once: the same sentences in the same order.

Grade: exact
"""

import keras
import numpy as np
import tensorflow as tf

WORDS = 1_000
LENGTH = 20
SENTENCES = 200_000

rng = np.random.default_rng(0)
sentences = tf.constant(rng.integers(0, WORDS, size=(SENTENCES, LENGTH)))
labels = tf.constant(rng.integers(0, 2, size=(SENTENCES, 1)))


def gather(rows):
    return tf.gather(sentences, rows), tf.gather(labels, rows)


dataset = tf.data.Dataset.range(SENTENCES).shuffle(10_000).batch(128)
dataset = dataset.map(gather, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [
        keras.layers.Embedding(WORDS, 16),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(
    optimizer="adam",
    loss="binary_crossentropy",
    metrics=["accuracy"],
    steps_per_execution=50,
)
model.fit(dataset, epochs=24, verbose=2)
