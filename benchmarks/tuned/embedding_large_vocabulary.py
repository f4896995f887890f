"""Changed: 20 steps in one launch. The dense update stays: it is Adam as Keras has it.

Without changing the result there is little to do by hand; see the `_numeric` version
for what an expert would do about the optimizer.

Grade: exact
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
model.compile(
    optimizer="adam",
    loss="binary_crossentropy",
    metrics=["accuracy"],
    steps_per_execution=20,
)
model.fit(dataset, epochs=3, verbose=2)
