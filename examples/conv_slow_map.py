"""A small convolutional model behind a slow map.

What is wrong: every image is softened and its colours are shifted at random, on
one core, before the model sees it. Because the function draws random numbers
TensorFlow does not make the map parallel by itself. (A `time.sleep` in such a
function, often used to imitate slow work, would run once, while tracing.)

Cause: serial-map
Bound: input
"""

import keras
import numpy as np
import tensorflow as tf

IMAGES = 10_000
SIDE = 64
BLUR = tf.tile(tf.ones([5, 5, 1, 1]) / 25.0, [1, 1, 3, 1])


def distort(image, label):
    image = tf.image.random_hue(image, max_delta=0.1)
    image = tf.image.random_saturation(image, lower=0.7, upper=1.3)
    soft = tf.nn.depthwise_conv2d(image[tf.newaxis], BLUR, [1, 1, 1, 1], "SAME")[0]
    blend = tf.random.uniform([])
    return blend * soft + (1.0 - blend) * image, label


rng = np.random.default_rng(0)
images = rng.random((IMAGES, SIDE, SIDE, 3), dtype=np.float32)
labels = rng.integers(0, 10, size=IMAGES)

dataset = tf.data.Dataset.from_tensor_slices((images, labels))
dataset = dataset.map(distort)
dataset = dataset.batch(32)
dataset = dataset.prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [
        keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        keras.layers.MaxPooling2D(4),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(
    optimizer="adam",
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.fit(dataset, epochs=4, verbose=2)
