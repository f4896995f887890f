"""The same pairs by slicing arrays.

Cause: none
Not: slow-preparation
"""

import keras
import numpy as np

rng = np.random.default_rng(0)
text = rng.integers(0, 1_000, size=150_000)

near = np.concatenate([text[:-4], text[1:-3], text[3:-1], text[4:]])
middle = np.tile(text[2:-2], 4)
far = rng.choice(1_000, size=2 * len(middle))
pairs = np.stack([np.tile(middle, 3), np.concatenate([near, far])], axis=1)
labels = np.repeat([1.0, 0.0, 0.0], len(middle))

model = keras.Sequential(
    [
        keras.layers.Embedding(1_000, 16),
        keras.layers.Flatten(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="sgd", loss="binary_crossentropy")
model.fit(pairs, labels, batch_size=8_192, epochs=20, verbose=0)
