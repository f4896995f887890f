"""A script with a `sys.excepthook` of its own that Ctrl-C reaches in an epoch."""

import hashlib
import sys

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
waves = rng.standard_normal((160, 24_000), dtype=np.float32)
labels = rng.integers(0, 4, 160)


def spectrum(wave, label):
    power = tf.abs(tf.signal.stft(wave, 512, 32))
    return tf.reduce_mean(tf.math.log(power + 1e-3), axis=0), label


def hook(kind, error, trace):
    print("hook:", kind.__name__, error)
    digest("weights at the end", model.variables)


class Interrupt(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print("epoch", epoch, logs["loss"])
        if epoch == 5:
            raise KeyboardInterrupt("by hand")


sys.excepthook = hook
model = keras.Sequential(
    [keras.Input((257,)), keras.layers.Dense(4, activation="softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy")
train = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrum)
train = train.shuffle(16).batch(16)
model.fit(train, epochs=9, callbacks=[Interrupt()], verbose=0)
print("never said")
