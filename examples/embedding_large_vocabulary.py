"""An embedding classifier over a real vocabulary: 200,000 words, Adam.

What is wrong: a batch names at most 2,560 words, yet every step rewrites all
200,000 rows of the table, and two moments for each, because Keras' Adam turns
the sparse gradient into a dense update. The input, the usual suspect, is ready
long before the optimizer is done.

Cause: dense-embedding-update
Bound: compute
"""

import keras
import numpy as np
import tensorflow as tf

WORDS = 200_000
LENGTH = 20
SENTENCES = 25_600

rng = np.random.default_rng(0)
sentences = np.minimum(rng.zipf(1.3, size=(SENTENCES, LENGTH)), WORDS) - 1
labels = rng.integers(0, 2, size=(SENTENCES, 1))

dataset = tf.data.Dataset.from_tensor_slices((sentences, labels))
dataset = dataset.shuffle(10_000).batch(128).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [
        keras.layers.Embedding(WORDS, 100),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(dataset, epochs=1, verbose=2)
