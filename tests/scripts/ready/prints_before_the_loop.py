"""A script that says much before its own loop, which has nothing to gain."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


print("loading")
rng = np.random.default_rng(0)
x = rng.standard_normal((4096, 64), dtype=np.float32)
y = x @ rng.standard_normal((64, 3), dtype=np.float32)
for name, value in (("x", x), ("y", y)):
    print(name, value.shape, float(value.mean()))
train = tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(4096).batch(256)
train = train.prefetch(tf.data.AUTOTUNE)
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(3)])
model.summary(line_length=60)
optimizer = keras.optimizers.Adam(1e-3)


@tf.function
def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs, training=True) - targets))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


print("training")
for epoch in range(100):
    for inputs, targets in train:
        loss = train_step(inputs, targets)
    if epoch % 20 == 0:
        print("epoch", epoch, float(loss))
digest("weights", model.variables)
digest("optimizer", optimizer.variables)
