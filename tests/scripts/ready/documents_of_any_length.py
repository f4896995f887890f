"""Documents of ever other lengths, each traced anew by a loop over a list."""

import hashlib

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
lengths = rng.permutation(np.arange(20, 140, 5))
documents = [
    (rng.standard_normal((1, n, 8), dtype=np.float32), rng.integers(0, 3, (1, n)))
    for n in lengths
]
model = tf.keras.Sequential(
    [
        tf.keras.Input((None, 8)),
        tf.keras.layers.Conv1D(8, 3, padding="same", activation="relu"),
        tf.keras.layers.Dropout(0.1, seed=3),
        tf.keras.layers.Dense(3),
    ]
)
optimizer = tf.keras.optimizers.Adam(1e-2)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(tokens, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(tokens, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


kept = []
for epoch in range(3):
    for tokens, labels in documents:
        kept.append(float(train_step(tf.constant(tokens), tf.constant(labels))))
    print("epoch", epoch, kept[-1])
print(len(kept), sum(kept))
digest("weights", model.variables)
digest("optimizer", optimizer.variables)
