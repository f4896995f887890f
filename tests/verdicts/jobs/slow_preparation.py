"""Word pairs are made one by one in Python for longer than the model trains.

Cause: slow-preparation
"""

import keras
import numpy as np

rng = np.random.default_rng(0)
text = rng.integers(0, 1_000, size=150_000)

pairs, labels = [], []
for place in range(2, len(text) - 2):
    for offset in (-2, -1, 1, 2):
        pairs.append((text[place], text[place + offset]))
        labels.append(1.0)
        for negative in rng.choice(1_000, size=2):
            pairs.append((text[place], negative))
            labels.append(0.0)
pairs, labels = np.array(pairs), np.array(labels)

model = keras.Sequential(
    [
        keras.layers.Embedding(1_000, 16),
        keras.layers.Flatten(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="sgd", loss="binary_crossentropy")
model.fit(pairs, labels, batch_size=8_192, epochs=8, verbose=0)
