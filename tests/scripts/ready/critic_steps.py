"""A WGAN with a gradient penalty: its critic takes three steps for one."""

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


class WGAN(keras.Model):
    def __init__(self):
        super().__init__()
        self.critic = keras.Sequential(
            [keras.Input((16, 16, 3)), keras.layers.Flatten(), keras.layers.Dense(1)]
        )
        self.painter = keras.Sequential(
            [
                keras.Input((8,)),
                keras.layers.Dense(768),
                keras.layers.Reshape((16, 16, 3)),
            ]
        )

    def compile(self, critic, painter):
        super().compile()
        self.for_critic, self.for_painter = critic, painter

    def call(self, noise):
        return self.painter(noise)

    def penalty(self, real, made):
        share = tf.random.uniform([tf.shape(real)[0], 1, 1, 1])
        mixed = real + share * (made - real)
        with tf.GradientTape() as tape:
            tape.watch(mixed)
            score = self.critic(mixed)
        slope = tf.sqrt(tf.reduce_sum(tape.gradient(score, mixed) ** 2, axis=[1, 2, 3]))
        return tf.reduce_mean((slope - 1.0) ** 2)

    def train_step(self, real):
        for _ in range(3):
            with tf.GradientTape() as tape:
                made = self.painter(tf.random.normal([tf.shape(real)[0], 8]))
                cost = tf.reduce_mean(self.critic(made)) - tf.reduce_mean(
                    self.critic(real)
                )
                cost += 10.0 * self.penalty(real, made)
            known = self.critic.trainable_variables
            self.for_critic.apply_gradients(zip(tape.gradient(cost, known), known))
        with tf.GradientTape() as tape:
            made = self.painter(tf.random.normal([tf.shape(real)[0], 8]))
            loss = -tf.reduce_mean(self.critic(made))
        known = self.painter.trainable_variables
        self.for_painter.apply_gradients(zip(tape.gradient(loss, known), known))
        return {"critic": cost, "painter": loss}


train = tf.data.Dataset.from_tensor_slices((images, labels)).map(prepare)
train = train.map(lambda image, _: image).shuffle(16).batch(16)
model = WGAN()
model(np.zeros((1, 8), np.float32))
one, two = keras.optimizers.RMSprop(1e-3), keras.optimizers.Adam(1e-3, beta_1=0.5)
model.compile(one, two)
print(model.fit(train, epochs=5, verbose=0).history)
print("steps", int(one.iterations), int(two.iterations))
digest("weights", model.variables)
digest("optimizers", [*one.variables, *two.variables])
print("next", tf.random.normal([2]).numpy().tolist())
