"""Adam rewrites 200,000 rows for the 640 words of a batch.

Cause: dense-embedding-update
"""

import keras
import numpy as np
import tensorflow as tf

WORDS = 200_000

rng = np.random.default_rng(0)
sentences = rng.integers(0, WORDS, size=(64_000, 10))
dataset = tf.data.Dataset.from_tensor_slices((sentences, sentences[:, :1] % 2))
dataset = dataset.repeat().batch(64).prefetch(tf.data.AUTOTUNE)
model = keras.Sequential(
    [
        keras.layers.Embedding(WORDS, 64),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(dataset, steps_per_epoch=50, epochs=10, verbose=0)
