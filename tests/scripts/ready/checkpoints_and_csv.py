"""Checkpoints of every epoch, the best model in a file of its own, and a CSV log."""

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
train, check = every.skip(64).shuffle(16).batch(16), every.take(64).batch(32)
model = keras.Sequential(
    [
        keras.Input((16, 16, 3)),
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.GlobalMaxPooling2D(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
kept = [
    keras.callbacks.ModelCheckpoint(
        "all/{epoch:02d}-{val_loss:.3f}.weights.h5", save_weights_only=True
    ),
    keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True),
    keras.callbacks.CSVLogger("log.csv", append=True),
]
# tune: train = feedline.tune(train, model=model, seconds=6)
model.fit(train, validation_data=check, epochs=6, callbacks=kept, verbose=0)
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
best = keras.models.load_model("best.keras")
digest("best", [*best.variables, *best.optimizer.variables])
print(best.evaluate(check, verbose=0))
