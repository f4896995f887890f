"""The same report once an epoch.

Cause: none
Not: chatty-callbacks
"""

import keras
import numpy as np
import tensorflow as tf


class Report(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        for weights in self.model.get_weights():
            print(np.percentile(weights, range(0, 101, 10)), file=log)


rows = np.random.default_rng(0).random((25_600, 64), dtype=np.float32)
dataset = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
dataset = dataset.batch(16).cache().prefetch(tf.data.AUTOTUNE)
layers = [keras.layers.Dense(256, activation="relu") for _ in range(8)]
model = keras.Sequential([*layers, keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
with open("weights.log", "w") as log:
    model.fit(dataset, epochs=20, callbacks=[Report()], verbose=0)
