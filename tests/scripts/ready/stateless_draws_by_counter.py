"""Stateless draws in the map, seeded by a counter that is zipped to the data."""

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


def augment(pair, seed):
    image, label = prepare(*pair)
    image = tf.image.stateless_random_contrast(image, 0.5, 1.5, seed)
    return tf.image.stateless_random_flip_left_right(image, seed), label


counter = tf.data.Dataset.counter().map(lambda n: tf.stack([n, n + 1]))
train = tf.data.Dataset.from_tensor_slices((images, labels))
train = tf.data.Dataset.zip((train, counter)).map(augment).shuffle(16).batch(16)
model = keras.Sequential(
    [keras.Input((16, 16, 3)), keras.layers.Flatten(), keras.layers.Dense(10)]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss)
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=6, verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
