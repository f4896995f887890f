"""Keras' random layers in the map, after work that is the same in every epoch."""

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


augment = keras.Sequential(
    [
        keras.layers.RandomFlip("horizontal", seed=3),
        keras.layers.RandomContrast(0.2, seed=4),
        keras.layers.RandomTranslation(0.1, 0.1, seed=5),
    ]
)
train = tf.data.Dataset.from_tensor_slices((images, labels)).map(prepare)
train = train.map(lambda image, label: (augment(image, training=True), label))
train = train.shuffle(16).batch(16)
model = keras.Sequential(
    [keras.Input((16, 16, 3)), keras.layers.Flatten(), keras.layers.Dense(10)]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss)
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=5, verbose=0).history)
digest("augmentation", [v for layer in augment.layers for v in layer.variables])
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
