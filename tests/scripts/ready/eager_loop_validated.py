"""A loop of its own with an eager step, an eager test step and `evaluate` between."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
x = rng.standard_normal((1280, 64), dtype=np.float32)
y = rng.integers(0, 10, 1280)
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1280, seed=2).batch(32)
valid = tf.data.Dataset.from_tensor_slices((x[:256], y[:256])).batch(64)


class Perceptron(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = [keras.layers.Dense(64) for _ in range(3)]
        self.norms = [keras.layers.BatchNormalization() for _ in range(3)]
        self.drop = keras.layers.Dropout(0.2)
        self.out = keras.layers.Dense(10)

    def call(self, inputs, training=False):
        for dense, norm in zip(self.hidden, self.norms):
            inputs = tf.nn.relu(norm(dense(inputs), training=training))
        return self.out(self.drop(inputs, training=training))


model = Perceptron()
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.Adam(1e-3)
model.compile(loss=loss_of, metrics=["accuracy"])
mean = keras.metrics.Mean()


def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = loss_of(targets, model(inputs, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    mean.update_state(loss)


for epoch in range(8):
    for inputs, targets in train:
        train_step(inputs, targets)
    print("epoch", epoch, float(mean.result()), model.evaluate(valid, verbose=0))
    mean.reset_state()
digest("weights", model.variables)
digest("optimizer", optimizer.variables)
