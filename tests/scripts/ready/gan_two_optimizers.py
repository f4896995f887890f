"""A GAN with a `train_step` of its own and two optimizers, as in keras-io's DCGAN.

It has no `call`; both optimizers count their own steps.
"""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)
images = rng.integers(0, 255, (320, 24, 24, 3), dtype=np.uint8)
labels = rng.integers(0, 10, 320)


def prepare(image, label):
    image = tf.image.resize(tf.cast(image, tf.float32) / 255, (192, 192), "lanczos5")
    return tf.image.resize(image, (16, 16), "area"), label


class GAN(keras.Model):
    def __init__(self, critic, painter, size):
        super().__init__()
        self.critic, self.painter, self.size = critic, painter, size
        self.seeds = keras.random.SeedGenerator(5)

    def compile(self, critic_optimizer, painter_optimizer, loss):
        super().compile()
        self.critic_optimizer = critic_optimizer
        self.painter_optimizer = painter_optimizer
        self.loss_of = loss
        self.critic_loss = keras.metrics.Mean(name="critic")
        self.painter_loss = keras.metrics.Mean(name="painter")

    @property
    def metrics(self):
        return [self.critic_loss, self.painter_loss]

    def train_step(self, data):
        real, _ = data
        count = tf.shape(real)[0]
        noise = keras.random.normal((count, self.size), seed=self.seeds)
        both = tf.concat([self.painter(noise), real], axis=0)
        truth = tf.concat([tf.ones((count, 1)), tf.zeros((count, 1))], axis=0)
        with tf.GradientTape() as tape:
            loss = self.loss_of(truth, self.critic(both))
        found = tape.gradient(loss, self.critic.trainable_weights)
        self.critic_optimizer.apply(found, self.critic.trainable_weights)
        noise = keras.random.normal((count, self.size), seed=self.seeds)
        with tf.GradientTape() as tape:
            fooled = self.critic(self.painter(noise))
            miss = self.loss_of(tf.zeros((count, 1)), fooled)
        found = tape.gradient(miss, self.painter.trainable_weights)
        self.painter_optimizer.apply(found, self.painter.trainable_weights)
        self.critic_loss.update_state(loss)
        self.painter_loss.update_state(miss)
        return {each.name: each.result() for each in self.metrics}


critic = keras.Sequential(
    [keras.Input((16, 16, 3)), keras.layers.Flatten(), keras.layers.Dense(1)]
)
painter = keras.Sequential(
    [keras.Input((8,)), keras.layers.Dense(768), keras.layers.Reshape((16, 16, 3))]
)
gan = GAN(critic, painter, 8)
one, two = keras.optimizers.Adam(1e-3), keras.optimizers.Adam(2e-3)
gan.compile(one, two, keras.losses.BinaryCrossentropy(from_logits=True))
train = tf.data.Dataset.from_tensor_slices((images, labels)).map(prepare)
history = gan.fit(train.shuffle(64).batch(16), epochs=4, verbose=0)
print(history.history)
print("steps", int(one.iterations), int(two.iterations))
digest("critic", [*critic.variables, *one.variables])
digest("painter", [*painter.variables, *two.variables, gan.seeds.state])
