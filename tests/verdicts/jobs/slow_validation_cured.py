"""The training data is ready, and so are the pictures to validate on.

Cause: none
Not: slow-validation
"""

import keras
import tensorflow as tf
from pictures import jpegs, pictures


def decode(jpeg, label):
    image = tf.io.decode_jpeg(jpeg, channels=3)
    return tf.image.resize(image, (32, 32)) / 255.0, label


images, labels = pictures(4_096, side=32)
dataset = tf.data.Dataset.from_tensor_slices((images.astype("float32"), labels))
dataset = dataset.batch(256).cache().prefetch(tf.data.AUTOTUNE)
valid = tf.data.Dataset.from_tensor_slices(jpegs(600, side=256))
valid = valid.map(decode).batch(256).cache().prefetch(tf.data.AUTOTUNE)
layers = [
    keras.layers.Flatten(),
    keras.layers.Dense(1_024, activation="relu"),
    keras.layers.Dense(10, activation="softmax"),
]
model = keras.Sequential(layers)
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
model.fit(dataset, epochs=60, validation_data=valid, verbose=0)
