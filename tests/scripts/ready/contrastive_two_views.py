"""Contrastive learning: two random views of a batch, a temperature that is trained."""

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


class Contrast(keras.Model):
    def __init__(self):
        super().__init__()
        self.views = [
            keras.Sequential([keras.layers.RandomTranslation(0.2, 0.2, seed=seed)])
            for seed in (1, 2)
        ]
        self.encoder = keras.Sequential(
            [keras.Input((16, 16, 3)), keras.layers.Flatten(), keras.layers.Dense(12)]
        )
        self.probe = keras.layers.Dense(10)
        self.warmth = self.add_weight(shape=(), initializer="ones", name="warmth")

    def compile(self, main, probe, **options):
        super().compile(**options)
        self.main, self.side = main, probe
        self.tracker = keras.metrics.Mean(name="contrast")
        self.right = keras.metrics.SparseCategoricalAccuracy(name="right")

    @property
    def metrics(self):
        return [self.tracker, self.right]

    def train_step(self, data):
        image, label = data
        one, two = (view(image, training=True) for view in self.views)
        with tf.GradientTape() as tape:
            a = tf.math.l2_normalize(self.encoder(one), axis=1)
            b = tf.math.l2_normalize(self.encoder(two), axis=1)
            alike = tf.matmul(a, b, transpose_b=True) * tf.exp(self.warmth)
            same = tf.range(tf.shape(image)[0])
            loss = tf.reduce_mean(
                keras.losses.sparse_categorical_crossentropy(same, alike, True)
            )
        known = [*self.encoder.trainable_weights, self.warmth]
        self.main.apply_gradients(zip(tape.gradient(loss, known), known))
        with tf.GradientTape() as tape:
            told = self.probe(self.encoder(image))
            miss = tf.reduce_mean(
                keras.losses.sparse_categorical_crossentropy(label, told, True)
            )
        known = self.probe.trainable_weights
        self.side.apply_gradients(zip(tape.gradient(miss, known), known))
        self.tracker.update_state(loss)
        self.right.update_state(label, told)
        return {each.name: each.result() for each in self.metrics}


train = tf.data.Dataset.from_tensor_slices((images, labels)).map(prepare)
train = train.shuffle(16).batch(16)
model = Contrast()
one, two = keras.optimizers.Adam(1e-3), keras.optimizers.SGD(1e-2, momentum=0.9)
model.compile(one, two)
print(model.fit(train, epochs=5, verbose=0).history)
digest("weights", model.variables)
digest("optimizers", [*one.variables, *two.variables])
