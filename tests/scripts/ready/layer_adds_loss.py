"""A layer of the script's own with `add_loss`, a metric and a running state."""

import hashlib

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


class Sparse(keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense = keras.layers.Dense(units, activation="relu")
        self.share = keras.metrics.Mean(name="share")
        self.usual = self.add_weight(
            shape=(units,), initializer="zeros", trainable=False
        )

    def call(self, x, training=False):
        made = self.dense(x)
        self.add_loss(1e-3 * tf.reduce_sum(tf.abs(made)))
        if training:
            mean = tf.reduce_mean(made, axis=0)
            self.usual.assign(0.9 * self.usual + 0.1 * mean)
            self.share.update_state(tf.cast(made > 0, tf.float32))
        return made - self.usual


train = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrum)
train = train.shuffle(16).batch(16)
layer = Sparse(12)
model = keras.Sequential(
    [keras.Input((257,)), layer, keras.layers.Dense(4, activation="softmax")]
)
model.compile("adam", "sparse_categorical_crossentropy")
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=7, verbose=0).history)
digest("usual", [layer.usual])
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
