"""A VAE with a `train_step` of its own and no `call`, as in keras-io."""

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


class Sampling(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        mean, log_var = inputs
        drawn = keras.random.normal(tf.shape(mean), seed=self.seed_generator)
        return mean + tf.exp(0.5 * log_var) * drawn


class VAE(keras.Model):
    def __init__(self, encoder, decoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder, self.decoder = encoder, decoder
        self.total = keras.metrics.Mean(name="total")
        self.kl = keras.metrics.Mean(name="kl")

    @property
    def metrics(self):
        return [self.total, self.kl]

    def train_step(self, data):
        with tf.GradientTape() as tape:
            mean, log_var, z = self.encoder(data)
            made = self.decoder(z)
            missed = tf.reduce_mean(tf.reduce_sum((data - made) ** 2, axis=(1, 2, 3)))
            kl = -0.5 * (1 + log_var - tf.square(mean) - tf.exp(log_var))
            kl = tf.reduce_mean(tf.reduce_sum(kl, axis=1))
            total = missed + kl
        grads = tape.gradient(total, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.total.update_state(total)
        self.kl.update_state(kl)
        return {"loss": self.total.result(), "kl": self.kl.result()}


seen = keras.Input((16, 16, 3))
x = keras.layers.Dense(32, activation="relu")(keras.layers.Flatten()(seen))
mean, log_var = keras.layers.Dense(4)(x), keras.layers.Dense(4)(x)
encoder = keras.Model(seen, [mean, log_var, Sampling()([mean, log_var])])
decoder = keras.Sequential(
    [keras.Input((4,)), keras.layers.Dense(768), keras.layers.Reshape((16, 16, 3))]
)
model = VAE(encoder, decoder)
model.compile(optimizer=keras.optimizers.Adam())
train = tf.data.Dataset.from_tensor_slices((images, labels)).map(prepare)
train = train.map(lambda image, _: image).shuffle(64).batch(16)
print(model.fit(train, epochs=6, verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
print("drawn", encoder.layers[-1].seed_generator.state.numpy().tolist())
