"""A body trained first, then frozen under a new head, then tuned with a small rate."""

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


every = tf.data.Dataset.from_tensor_slices((images, labels)).map(prepare)
old = every.take(160).shuffle(16).batch(16)
new = every.skip(160).map(lambda image, label: (image, label % 2)).shuffle(16).batch(16)
body = keras.Sequential(
    [
        keras.Input((16, 16, 3)),
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.GlobalAveragePooling2D(),
    ],
    name="body",
)
model = keras.Sequential([body, keras.layers.Dense(10, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
print(model.fit(old, epochs=4, verbose=0).history)

body.trainable = False
seen = keras.Input((16, 16, 3))
told = keras.layers.Dense(1, "sigmoid")(body(seen, training=False))
model = keras.Model(seen, told)
model.compile(keras.optimizers.RMSprop(1e-2), "binary_crossentropy")
print(model.fit(new, epochs=4, verbose=0).history)
digest("body", body.variables)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)

body.trainable = True
model.compile(keras.optimizers.RMSprop(1e-4), "binary_crossentropy")
print(model.fit(new, epochs=4, verbose=0).history)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
