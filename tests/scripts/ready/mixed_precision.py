"""Mixed precision with a loss scale that changes as it trains."""

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


keras.mixed_precision.set_global_policy("mixed_float16")
train = tf.data.Dataset.from_tensor_slices((images, labels)).map(prepare)
train = train.shuffle(16).batch(16)
model = keras.Sequential(
    [
        keras.Input((16, 16, 3)),
        keras.layers.Flatten(),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(10, dtype="float32", activation="softmax"),
    ]
)
optimizer = keras.optimizers.LossScaleOptimizer(
    keras.optimizers.Adam(), initial_scale=2.0**20, dynamic_growth_steps=20
)
model.compile(optimizer, "sparse_categorical_crossentropy")
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=6, verbose=0).history)
print("scale", float(optimizer.dynamic_scale))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
