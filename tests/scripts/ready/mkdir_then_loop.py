"""A loop of its own behind `os.mkdir`, which fails where the folder exists."""

import hashlib
import os

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


os.mkdir("results")
with open("results/log.txt", "w") as log:
    print("begins", file=log)
rng = np.random.default_rng(0)
x = rng.standard_normal((640, 16), dtype=np.float32)
y = (x[:, :1] > 0).astype(np.float32)
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(640, seed=3).batch(16)
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.RMSprop(1e-2)
loss_of = keras.losses.BinaryCrossentropy(from_logits=True)
for epoch in range(12):
    for inputs, targets in train:
        with tf.GradientTape() as tape:
            loss = loss_of(targets, model(inputs, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
    with open("results/log.txt", "a") as log:
        print("epoch", epoch, float(loss), file=log)
model.save_weights("results/final.weights.h5")
digest("weights", model.variables)
digest("optimizer", optimizer.variables)
