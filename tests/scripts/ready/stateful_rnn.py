"""A recurrent layer that keeps its state from batch to batch, reset by a callback."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
series = np.cumsum(rng.standard_normal(6000), dtype=np.float32)
windows = tf.keras.utils.timeseries_dataset_from_array(
    series[:-5, None], series[5:], 5, sequence_stride=5, batch_size=8
)
train = windows.take(149)


class Reset(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.model.layers[0].reset_state()


model = keras.Sequential(
    [
        keras.Input(batch_shape=(8, 5, 1)),
        keras.layers.GRU(6, stateful=True),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", "mse")
print(model.fit(train, epochs=5, callbacks=[Reset()], shuffle=False, verbose=0).history)
digest("state", model.layers[0].states)
print(model.evaluate(train.take(20), verbose=0))
digest("state", model.layers[0].states)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
