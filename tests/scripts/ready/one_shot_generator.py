"""A generator given to fit, which can be read only once, and keeps what it gave."""

import hashlib
import time

import keras
import numpy as np

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
given = []


def batches():
    while True:
        x = rng.standard_normal((8, 16), dtype=np.float32)
        time.sleep(0.002)
        given.append(float(x[0, 0]))
        yield x, rng.integers(0, 3, 8)


model = keras.Sequential(
    [keras.Input((16,)), keras.layers.Dropout(0.1), keras.layers.Dense(3)]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss)
history = model.fit(batches(), epochs=3, steps_per_epoch=120, verbose=0)
print(history.history)
print(len(given) >= 360, sum(given[:360]))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
