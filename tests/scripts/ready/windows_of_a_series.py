"""Time series: Keras' windows over an array, which zip it with itself, repeated."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
series = rng.standard_normal((9000, 12), dtype=np.float32)


def split_window(features):
    inputs, label = features[:, :-1, :], tf.stack([features[:, -1, 0]], axis=-1)
    inputs.set_shape([None, 24, 12])
    return inputs, label


def windows(data):
    made = keras.utils.timeseries_dataset_from_array(
        data, None, sequence_length=25, sequence_stride=1, shuffle=True, batch_size=32
    )
    return made.map(split_window)


model = keras.Sequential(
    [keras.layers.Flatten(), keras.layers.Dense(16, "relu"), keras.layers.Dense(1)]
)
model.compile("adam", "mse", metrics=["mae"])
train, check = windows(series[:8000]), windows(series[8000:])
print("batches", int(train.cardinality()))
stop = keras.callbacks.EarlyStopping("val_loss", patience=20)
history = model.fit(
    train, epochs=12, validation_data=check, callbacks=[stop], verbose=0
)
print(history.history)
print("steps", int(model.optimizer.iterations))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
