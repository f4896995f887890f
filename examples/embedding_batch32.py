"""An embedding classifier, batch 32, no prefetch, as most tutorials write it.

What is wrong: a step has almost nothing to compute. Starting it costs more than
the arithmetic on 32 short sentences, so the same start is paid four times as
often as at batch 128. The missing prefetch, usually blamed, costs nothing:
TensorFlow adds one by itself.

Cause: small-batch | launch-overhead
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
dataset = dataset.shuffle(10_000).batch(32)

model = keras.Sequential(
    [
        keras.layers.Embedding(WORDS, 16),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(dataset, epochs=3, verbose=2)
