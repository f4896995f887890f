"""Two inputs and two outputs by name, with losses and weights for each."""

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


extra = rng.standard_normal((320, 5), dtype=np.float32)
score = rng.standard_normal((320, 1), dtype=np.float32)


def build(inputs, outputs):
    image, _ = prepare(inputs["image"], 0)
    return {"image": image, "extra": inputs["extra"]}, outputs


image = keras.Input((16, 16, 3), name="image")
more = keras.Input((5,), name="extra")
x = keras.layers.Conv2D(4, 3, strides=2, activation="relu")(image)
x = keras.layers.concatenate([keras.layers.Flatten()(x), more])
kind = keras.layers.Dense(10, activation="softmax", name="kind")(x)
rank = keras.layers.Dense(1, name="rank")(x)
model = keras.Model([image, more], {"kind": kind, "rank": rank})
model.compile(
    "adam",
    {"kind": "sparse_categorical_crossentropy", "rank": "mse"},
    loss_weights={"kind": 1.0, "rank": 0.2},
    metrics={"kind": ["accuracy"]},
)
data = {"image": images, "extra": extra}, {"kind": labels, "rank": score}
train = tf.data.Dataset.from_tensor_slices(data).map(build).shuffle(16).batch(16)
# tune: train = feedline.tune(train, model=model, seconds=6)
history = model.fit(train, epochs=6, verbose=0).history
print({name: history[name] for name in sorted(history)})
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
