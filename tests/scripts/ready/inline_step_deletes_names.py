"""A step in a loop that deletes its names when it has used them, to save memory."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
x = rng.standard_normal((480, 16), dtype=np.float32)
data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(480, seed=1).batch(12)
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(0.01)
variables = model.trainable_variables
losses = []
for epoch in range(12):
    total = 0.0
    for inputs, targets in data:
        with tf.GradientTape(persistent=True) as tape:
            miss = tf.reduce_mean(tf.square(model(inputs, training=True) - targets))
            size = 1e-3 * tf.add_n([tf.reduce_sum(tf.abs(v)) for v in variables])
        grads = [
            a + b
            for a, b in zip(
                tape.gradient(miss, variables), tape.gradient(size, variables)
            )
        ]
        optimizer.apply_gradients(zip(grads, variables))
        total += float(miss)
        del tape, grads, size
    losses.append(total)
    print("epoch", epoch, total)
try:
    print(tape)
except NameError as error:
    print(error)
digest("weights", model.variables)
digest("optimizer", optimizer.variables)
