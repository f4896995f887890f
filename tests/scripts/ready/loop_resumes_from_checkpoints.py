"""A loop of its own that saves checkpoints and resumes from the last it finds."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
x = rng.standard_normal((512, 16), dtype=np.float32)
y = x[:, :1] * 2 - x[:, 1:2]
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(512).batch(16)
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-2)
optimizer.build(model.trainable_variables)
step = tf.Variable(0, dtype=tf.int64)
saved = tf.train.Checkpoint(step=step, model=model, optimizer=optimizer)
manager = tf.train.CheckpointManager(saved, "checkpoints", max_to_keep=2)
saved.restore(manager.latest_checkpoint)
print("resumed" if manager.latest_checkpoint else "from scratch", "at", int(step))


def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs, training=True) - targets))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    step.assign_add(1)
    return loss


for epoch in range(20):
    for inputs, targets in train:
        loss = train_step(inputs, targets)
        if int(step) % 100 == 0:
            manager.save()
            print("step", int(step), "loss", float(loss))
print("steps", int(step), int(optimizer.iterations))
digest("weights", model.variables)
digest("optimizer", optimizer.variables)
