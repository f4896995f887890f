"""A generator that draws in TensorFlow's thread while an eager step trains.

What is tried with the step must not give the generator the same draws twice.
"""

import hashlib
import random

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(4)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


def rows():
    while True:
        length = random.randint(3, 12)
        row = np.cumsum(np.random.normal(size=12))
        row[length:] = 0.0
        yield row.astype("float32"), np.float32(length % 2)


spec = (tf.TensorSpec([12]), tf.TensorSpec([]))
data = tf.data.Dataset.from_generator(rows, output_signature=spec)
data = data.shuffle(500).batch(32).prefetch(1)
model = keras.Sequential(
    [keras.Input((12,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(1)]
)
optimizer = keras.optimizers.Adam(0.01)
loss_of = keras.losses.BinaryCrossentropy(from_logits=True)


def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y[:, None], model(x, training=True))
    found = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(found, model.trainable_variables))
    return loss


for number, (x, y) in enumerate(data.take(400)):
    loss = step(x, y)
    if number % 100 == 0:
        print(number, float(loss))
        digest("batch", [x, y])
digest("weights", model.get_weights())
digest("optimizer", [value.numpy() for value in optimizer.variables])
