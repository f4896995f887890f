"""A fit on arrays with `validation_split` and many small steps."""

import hashlib

import keras
import numpy as np

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
x = rng.standard_normal((2000, 12), dtype=np.float32)
y = (x.sum(axis=1, keepdims=True) > 0).astype(np.float32)
model = keras.Sequential(
    [keras.Input((12,)), keras.layers.Dropout(0.1), keras.layers.Dense(1, "sigmoid")]
)
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, batch_size=4, epochs=6, validation_split=0.2, verbose=0)
print(history.history)
print(model.evaluate(x, y, verbose=0))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
