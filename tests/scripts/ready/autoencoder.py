"""A denoising autoencoder: noise in the model, the clean picture as its target."""

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


train = tf.data.Dataset.from_tensor_slices((images, labels)).map(prepare)
train = train.map(lambda image, _: (image, image)).shuffle(16).batch(16)
encoder = keras.Sequential(
    [
        keras.Input((16, 16, 3)),
        keras.layers.GaussianNoise(0.1),
        keras.layers.Conv2D(4, 3, strides=2, padding="same", activation="relu"),
    ]
)
decoder = keras.Sequential(
    [
        keras.Input((8, 8, 4)),
        keras.layers.Conv2DTranspose(4, 3, strides=2, padding="same"),
        keras.layers.Conv2D(3, 3, padding="same", activation="sigmoid"),
    ]
)
seen = keras.Input((16, 16, 3))
model = keras.Model(seen, decoder(encoder(seen)))
model.compile("adam", "mse", metrics=["mae"])
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=6, verbose=0).history)
digest("codes", [encoder.predict(train.map(lambda x, _: x), verbose=0)])
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
