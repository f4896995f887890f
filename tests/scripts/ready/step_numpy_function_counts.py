"""A `train_step` whose `numpy_function` counts its calls and scales the loss."""

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


calls = []


def warmth(size):
    calls.append(int(size))
    return np.float32(min(1.0, len(calls) / 60))


class Warming(keras.Sequential):
    def train_step(self, data):
        x, y = data
        scale = tf.numpy_function(warmth, [tf.shape(x)[0]], tf.float32)
        scale.set_shape(())
        return super().train_step((x, y, tf.fill([tf.shape(x)[0]], scale)))


model = Warming([keras.Input((257,)), keras.layers.Dense(4, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy")
train = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrum)
train = train.shuffle(16).batch(16)
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=8, verbose=0).history)
print("calls", len(calls), sum(calls))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
