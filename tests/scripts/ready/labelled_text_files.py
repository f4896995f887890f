"""Loading text: labelled files zipped and concatenated, a large shuffle, skip and take.

The number of steps in an epoch is not known beforehand.
"""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


WORDS = [f"word{n}" for n in range(300)]
rng = np.random.default_rng(0)
for name in ("one", "two", "three"):
    with open(f"{name}.txt", "w") as file:
        for _ in range(900):
            print(" ".join(rng.choice(WORDS, rng.integers(4, 12))), file=file)


def labelled(index, name):
    lines = tf.data.TextLineDataset(f"{name}.txt")
    label = tf.data.Dataset.from_tensors(index).repeat()
    return tf.data.Dataset.zip((lines, label))


every = labelled(0, "one")
for index, name in ((1, "two"), (2, "three")):
    every = every.concatenate(labelled(index, name))
every = every.shuffle(50_000, reshuffle_each_iteration=False)
vectorize = keras.layers.TextVectorization(400, output_sequence_length=12)
vectorize.adapt(every.map(lambda text, _: text).batch(256))
ready = every.map(lambda text, label: (vectorize(text), label))
train = ready.skip(200).shuffle(50_000).batch(12)
check = ready.take(200).batch(32)

model = keras.Sequential(
    [
        keras.layers.Embedding(400, 16),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(3),
    ]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss, metrics=["accuracy"])
print("cardinality", int(train.cardinality()))
history = model.fit(train, validation_data=check, epochs=5, verbose=0)
print(history.history)
print("steps", int(model.optimizer.iterations))
print(model.evaluate(check, verbose=0))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
