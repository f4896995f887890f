"""A fit with `run_eagerly`, and a model that keeps a list in Python."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
x = rng.standard_normal((320, 16), dtype=np.float32)
y = rng.integers(0, 3, 320)
means = []


class Watched(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(3, activation="softmax")

    def call(self, inputs):
        means.append(float(tf.reduce_mean(inputs)))
        return self.dense(inputs * (1.0 + 1e-3 * (len(means) % 7)))


model = Watched()
model(x[:1])
means.clear()
model.compile("adam", "sparse_categorical_crossentropy", run_eagerly=True)
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(320).batch(8)
print(model.fit(train, epochs=5, verbose=0).history)
print(len(means), sum(means))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
