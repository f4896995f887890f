"""Four folds, each with a model and a pipeline of its own, and the mean at the end."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
rows = rng.standard_normal((320, 20_000), dtype=np.float32)
labels = rng.integers(0, 2, 320)


def quantiles(row, label):
    return tf.sort(row)[::500], label


def data(chosen, training):
    made = tf.data.Dataset.from_tensor_slices((rows[chosen], labels[chosen]))
    made = made.map(quantiles)
    return made.shuffle(16).batch(16) if training else made.batch(40)


scores = []
parts = np.array_split(rng.permutation(320), 4)
for fold, held in enumerate(parts):
    rest = np.concatenate([part for n, part in enumerate(parts) if n != fold])
    model = keras.Sequential(
        [
            keras.Input((40,)),
            keras.layers.Dropout(0.1),
            keras.layers.Dense(1, "sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    history = model.fit(data(rest, True), epochs=4, verbose=0)
    scores.append(model.evaluate(data(held, False), verbose=0))
    print("fold", fold, history.history, scores[-1])
    digest("weights", model.variables)
    digest("optimizer", model.optimizer.variables)
    keras.backend.clear_session()
print(np.mean(scores, axis=0).tolist())
