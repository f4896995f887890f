"""Words looked up by an adapted layer in the map, adapted again between two fits."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


WORDS = np.array([f"word{n}" for n in range(2000)])
rng = np.random.default_rng(0)
lines = [" ".join(rng.choice(WORDS, 150)) for _ in range(400)]
labels = rng.integers(0, 2, 400)
vectorize = keras.layers.TextVectorization(300, ngrams=2, output_sequence_length=40)
vectorize.adapt(lines[:100])


def encode(line, label):
    return vectorize(line), label


train = tf.data.Dataset.from_tensor_slices((lines, labels)).map(encode)
train = train.shuffle(16).batch(10)
model = keras.Sequential(
    [
        keras.Input((40,), dtype="int64"),
        keras.layers.Embedding(300, 8),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile("adam", "binary_crossentropy")
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=5, verbose=0).history)
vectorize.adapt(lines[300:])
print(model.fit(train, epochs=4, verbose=0).history)
print(int(sum(tf.reduce_sum(x) for x, _ in train)))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
