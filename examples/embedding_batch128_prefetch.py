"""The embedding classifier again, at batch 128 and with a prefetch.

What is wrong: less than before, but the same thing. A step now does four times the
work in hardly more time, and still most of it goes into starting the step. The
prefetch changes nothing: TensorFlow had added one by itself, and the input was
never late.

Cause: launch-overhead | small-batch
Bound: overhead
"""

import keras
import numpy as np
import tensorflow as tf

WORDS = 1_000
LENGTH = 20
SENTENCES = 200_000

rng = np.random.default_rng(0)
sentences = rng.integers(0, WORDS, size=(SENTENCES, LENGTH))
labels = rng.integers(0, 2, size=(SENTENCES, 1))

dataset = tf.data.Dataset.from_tensor_slices((sentences, labels))
dataset = dataset.shuffle(10_000).batch(128)
dataset = dataset.prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [
        keras.layers.Embedding(WORDS, 16),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(dataset, epochs=8, verbose=2)
