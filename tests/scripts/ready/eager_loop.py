"""A loop of its own whose step runs eagerly, with metrics and lists of losses."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
x = rng.standard_normal((640, 20), dtype=np.float32)
y = rng.integers(0, 3, 640)
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(640, seed=2).batch(16)
model = keras.Sequential(
    [keras.Input((20,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(3)]
)
optimizer = keras.optimizers.Adam(1e-3)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
accuracy = keras.metrics.SparseCategoricalAccuracy()


def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        logits = model(inputs, training=True)
        loss = loss_of(targets, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    accuracy.update_state(targets, logits)
    return loss


kept = []
for epoch in range(6):
    for inputs, targets in train:
        kept.append(float(train_step(inputs, targets)))
    print("epoch", epoch, kept[-1], float(accuracy.result()))
    accuracy.reset_state()
print(len(kept), sum(kept))
digest("weights", model.variables)
digest("optimizer", optimizer.variables)
