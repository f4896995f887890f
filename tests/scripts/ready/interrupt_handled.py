"""Ctrl-C while it trains: the script saves what it has and goes on to its report."""

import hashlib
import signal

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


class Interrupt(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 4:
            signal.raise_signal(signal.SIGINT)


model = keras.Sequential(
    [keras.Input((257,)), keras.layers.Dense(4, activation="softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy")
train = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrum)
train = train.shuffle(16).batch(16)
try:
    model.fit(train, epochs=30, callbacks=[Interrupt()], verbose=0)
except KeyboardInterrupt:
    print("interrupted after", int(model.optimizer.iterations), "steps")
    model.save_weights("interrupted.weights.h5")
print(model.evaluate(train, verbose=0))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
