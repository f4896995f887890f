"""A step in a loop that calls a function which logs the name of its caller."""

import hashlib
import logging

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


logging.basicConfig(
    filename="names.log",
    level=logging.INFO,
    format="%(funcName)s:%(lineno)d %(message)s",
)
rng = np.random.default_rng(0)
x = rng.standard_normal((480, 16), dtype=np.float32)
data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(480, seed=1).batch(12)
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.01)


def loss_of(logits, targets):
    logging.info("called", stacklevel=2)
    return tf.reduce_mean(tf.square(logits - targets))


def train(epochs):
    late = []
    for epoch in range(epochs):
        for inputs, targets in data:
            with tf.GradientTape() as tape:
                loss = loss_of(model(inputs, training=True), targets)
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
        late.append(lambda: (epoch, float(loss)))
    return [each() for each in late]


print(train(12))
digest("weights", model.variables)
digest("optimizer", optimizer.variables)
