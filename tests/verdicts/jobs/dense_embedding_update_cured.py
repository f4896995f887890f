"""The same classifier over 400 words, all of which a batch touches.

Cause: none
Not: dense-embedding-update
"""

import keras
import numpy as np
import tensorflow as tf

WORDS = 400

rng = np.random.default_rng(0)
sentences = rng.integers(0, WORDS, size=(64_000, 10))
dataset = tf.data.Dataset.from_tensor_slices((sentences, sentences[:, :1] % 2))
dataset = dataset.repeat().batch(1_024).prefetch(tf.data.AUTOTUNE)
model = keras.Sequential(
    [
        keras.layers.Embedding(WORDS, 64),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(dataset, steps_per_epoch=400, epochs=10, verbose=0)
