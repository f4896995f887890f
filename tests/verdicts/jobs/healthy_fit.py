"""A convolutional model that computes, behind an input that is ready.

Cause: none
"""

import keras
import tensorflow as tf
from pictures import pictures

dataset = tf.data.Dataset.from_tensor_slices(pictures(640, side=64)).cache()
dataset = dataset.repeat().batch(32).prefetch(tf.data.AUTOTUNE)
convolutions = [keras.layers.Conv2D(16, 3, activation="relu") for _ in range(3)]
model = keras.Sequential(
    [
        keras.layers.Rescaling(1 / 255),
        *convolutions,
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
model.fit(dataset, steps_per_epoch=50, epochs=10, verbose=0)
