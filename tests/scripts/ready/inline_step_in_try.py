"""A step that fails in the middle of a loop; the `except` reads what it had set."""

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
optimizer = keras.optimizers.SGD(0.01)
limit = {"calls": 0}


def checked(logits, targets):
    limit["calls"] += 1
    if limit["calls"] == 300:
        raise ValueError("out of range")
    return tf.reduce_mean(tf.square(logits - targets))


def train():
    for epoch in range(12):
        number = 0
        try:
            for inputs, targets in data:
                with tf.GradientTape() as tape:
                    logits = model(inputs, training=True)
                    loss = checked(logits, targets)
                grads = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(grads, model.trainable_variables))
                number += 1
        except ValueError as error:
            print(error, "after", number, "with loss", float(loss))
            digest("the logits that failed", [logits])
            digest("the last gradients", grads)
            break
        else:
            print("epoch", epoch, float(loss))


train()
digest("weights", model.variables)
digest("optimizer", optimizer.variables)
