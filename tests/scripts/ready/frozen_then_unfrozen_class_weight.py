"""A frozen phase and an unfrozen one on the same dataset, both with `class_weight`.

Then it is evaluated and saved.
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


base = keras.Sequential(
    [
        keras.Input((16, 16, 3)),
        keras.layers.Conv2D(6, 3, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.GlobalAveragePooling2D(),
    ]
)
model = keras.Sequential([base, keras.layers.Dense(10, activation="softmax")])
weight = {n: 1.0 + n / 10 for n in range(10)}
train = tf.data.Dataset.from_tensor_slices((images, labels)).map(prepare)
train = train.shuffle(64).batch(16).prefetch(1)

base.trainable = False
model.compile("adam", "sparse_categorical_crossentropy")
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=4, class_weight=weight, verbose=0).history)
digest("frozen", [*model.variables, *model.optimizer.variables])

base.trainable = True
model.compile(keras.optimizers.Adam(1e-4), "sparse_categorical_crossentropy")
print(model.fit(train, epochs=4, class_weight=weight, verbose=0).history)
print(model.evaluate(train, verbose=0))
digest("predictions", [model.predict(train, verbose=0)])
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
model.save("model.keras")
model.save_weights("model.weights.h5")
