"""A learning rate by a schedule of the script's own, and one that a callback sets."""

import hashlib
import math

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
rows = rng.standard_normal((320, 20_000), dtype=np.float32)
labels = rng.integers(0, 2, 320)


def quantiles(row, label):
    return tf.sort(row)[::500], label


class Warmup(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, peak, steps):
        self.peak, self.steps = peak, steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        rise = self.peak * (step + 1.0) / self.steps
        fall = self.peak * tf.math.rsqrt(tf.maximum(step - self.steps + 2.0, 1.0))
        return tf.where(step < self.steps, rise, fall)

    def get_config(self):
        return {"peak": self.peak, "steps": self.steps}


def make(rate):
    model = keras.Sequential([keras.Input((40,)), keras.layers.Dense(1, "sigmoid")])
    optimizer = keras.optimizers.SGD(rate, momentum=0.9, nesterov=True)
    model.compile(optimizer, "binary_crossentropy")
    return model


train = tf.data.Dataset.from_tensor_slices((rows, labels)).map(quantiles)
train = train.shuffle(16, seed=5).batch(16)
model = make(Warmup(0.05, 40))
print(model.fit(train, epochs=5, verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
model = make(0.05)
rate = keras.callbacks.LearningRateScheduler(lambda epoch, lr: lr * math.exp(-0.2))
print(model.fit(train, epochs=5, callbacks=[rate], verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
