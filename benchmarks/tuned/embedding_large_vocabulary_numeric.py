"""Changed: a lazy Adam by hand, 20 steps in one launch, sentences gathered.

Grade: numeric
"""

import keras
import numpy as np
import tensorflow as tf
from lazy_adam import LazyAdam

WORDS = 200_000
LENGTH = 20
SENTENCES = 25_600

rng = np.random.default_rng(0)
sentences = np.minimum(rng.zipf(1.3, size=(SENTENCES, LENGTH)), WORDS) - 1
sentences = tf.constant(sentences)
labels = tf.constant(rng.integers(0, 2, size=(SENTENCES, 1)))


def gather(rows):
    return tf.gather(sentences, rows), tf.gather(labels, rows)


dataset = tf.data.Dataset.range(SENTENCES).shuffle(10_000).batch(128)
dataset = dataset.map(gather, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [
        keras.layers.Embedding(WORDS, 100),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(
    optimizer=LazyAdam(),
    loss="binary_crossentropy",
    metrics=["accuracy"],
    steps_per_execution=20,
)
model.fit(dataset, epochs=40, verbose=2)
