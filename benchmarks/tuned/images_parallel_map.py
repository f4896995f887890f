"""Changed: crops before it shifts the colours.

Brightness and contrast need the whole picture (contrast its mean). What follows works
pixel by pixel, so the crop and the flip can come first: the same pixels, a quarter of
the work. Nothing is seeded, and each picture still gets its own draws.

Grade: exact
"""

import keras
import numpy as np
import tensorflow as tf

IMAGES = 4_000
SIDE = 128
CROP = 64


def augment(image, label):
    image = tf.cast(image, tf.float32) / 255.0
    image = tf.image.random_brightness(image, max_delta=0.2)
    image = tf.image.random_contrast(image, lower=0.8, upper=1.2)
    image = tf.image.random_crop(image, [CROP, CROP, 3])
    image = tf.image.random_hue(image, max_delta=0.1)
    image = tf.image.random_saturation(image, lower=0.8, upper=1.2)
    image = tf.image.random_flip_left_right(image)
    return image, label


rng = np.random.default_rng(0)
images = rng.integers(0, 256, size=(IMAGES, SIDE, SIDE, 3), dtype=np.uint8)
labels = rng.integers(0, 10, size=IMAGES)

dataset = tf.data.Dataset.from_tensor_slices((images, labels))
dataset = dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(32).repeat().prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [
        keras.layers.Conv2D(8, 3, strides=4, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(dataset, steps_per_epoch=250, epochs=4, verbose=2)
