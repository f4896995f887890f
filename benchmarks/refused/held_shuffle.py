"""Shuffling small things, where the script holds the shuffled dataset in a variable.

Left: the shuffle is held in a variable, where the cure would give other elements
Fix: shuffle-ids
Back: build the dataset in one expression, or in a function
"""

import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
small = rng.integers(0, 255, (512, 32, 32, 3), dtype=np.uint8)


def large(image):
    image = tf.image.resize(tf.cast(image, tf.float32), (192, 192), "lanczos5")
    return image, image[0, 0, :1]


rows = tf.data.Dataset.from_tensor_slices(small)
mixed = rows.map(large).shuffle(512)  # by hand: mixed = rows.shuffle(512).map(large)
data = mixed.batch(16).prefetch(1)
model = keras.Sequential(
    [
        keras.Input((192, 192, 3)),
        keras.layers.Conv2D(8, 3, strides=2),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
model.fit(data, epochs=4, verbose=2)
