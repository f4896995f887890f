"""A model that only its own `train_step` knows how to call, as keras-io's siamese one.

Keras cannot build it from a batch: its `call` wants all three parts of it.
"""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(2)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


def prepare(number):
    shape = (3, 16, 16)
    three = tf.random.stateless_normal(shape, tf.stack([number, 3]))
    for _ in range(60):
        three = tf.sin(tf.linalg.matmul(three, three, transpose_b=True) * 0.1 + three)
    return three[0], three[1], three[2]


inputs = [keras.Input((16, 16), name=name) for name in ("anchor", "near", "far")]
look = keras.Sequential(
    [keras.Input((16, 16)), keras.layers.Flatten(), keras.layers.Dense(8)]
)
anchor, near, far = (look(each) for each in inputs)
distances = [
    keras.ops.sum((anchor - near) ** 2, -1),
    keras.ops.sum((anchor - far) ** 2, -1),
]
network = keras.Model(inputs, distances)


class Siamese(keras.Model):
    def __init__(self, network):
        super().__init__()
        self.network = network
        self.seen = keras.metrics.Mean(name="loss")

    def call(self, inputs):
        return self.network(inputs)

    def train_step(self, data):
        with tf.GradientTape() as tape:
            near, far = self.network(data)
            loss = tf.reduce_mean(tf.maximum(near - far + 0.5, 0.0))
        found = tape.gradient(loss, self.network.trainable_weights)
        self.optimizer.apply_gradients(zip(found, self.network.trainable_weights))
        self.seen.update_state(loss)
        return {"loss": self.seen.result()}

    @property
    def metrics(self):
        return [self.seen]


model = Siamese(network)
model.compile(keras.optimizers.Adam(1e-3))
train = tf.data.Dataset.range(400).map(prepare).shuffle(50, seed=5).batch(16)
history = model.fit(train, epochs=5, verbose=0)
print(history.history)
digest("weights", model.get_weights())
digest("optimizer", [value.numpy() for value in model.optimizer.variables])
