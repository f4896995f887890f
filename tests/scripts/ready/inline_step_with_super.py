"""A step that stands in the loop of a method, and calls `super()` in it."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


class Trainer:
    def __init__(self, model):
        self.model, self.__scale = model, 0.5

    def loss_of(self, x, y):
        return self.__scale * tf.reduce_mean(tf.square(self.model(x) - y))


class Loud(Trainer):
    def loss_of(self, x, y):
        return 3.0 * super().loss_of(x, y)

    def fit(self, data, optimizer, epochs):
        self.__kept = []
        for _ in range(epochs):
            for x, y in data:
                with tf.GradientTape() as tape:
                    loss = super().loss_of(x, y)
                grads = tape.gradient(loss, self.model.trainable_variables)
                optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
            self.__kept.append(float(loss))
        return self.__kept


rng = np.random.default_rng(0)
x = rng.standard_normal((480, 16), dtype=np.float32)
data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(480, seed=1).batch(12)
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adagrad(0.1)
print(Loud(model).fit(data, optimizer, 12))
digest("weights", model.variables)
digest("optimizer", optimizer.variables)
