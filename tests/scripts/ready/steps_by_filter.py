"""A filter whose outcome changes with a random draw: no epoch has a known length."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
x = rng.standard_normal((2400, 8), dtype=np.float32)
y = x[:, :1] - x[:, 1:2]
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
train = tf.data.Dataset.from_tensor_slices((x, y))
train = train.filter(lambda x, y: tf.random.uniform(()) < 0.7).batch(4)
history = model.fit(train, epochs=5, verbose=0)
print(history.history, int(model.optimizer.iterations))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
