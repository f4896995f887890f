"""Changed: both maps parallel; softening and blending run once per batch.

The colours are shifted image by image, as TensorFlow's operations want it, on all
cores. What works on any number of images, the softening, moves behind the batch:
one convolution instead of 32. Nothing is seeded, and each image still gets its own
draws.

Grade: exact
"""

import keras
import numpy as np
import tensorflow as tf

IMAGES = 10_000
SIDE = 64
BLUR = tf.tile(tf.ones([5, 5, 1, 1]) / 25.0, [1, 1, 3, 1])


def colours(image, label):
    image = tf.image.random_hue(image, max_delta=0.1)
    return tf.image.random_saturation(image, lower=0.7, upper=1.3), label


def soften(images, labels):
    soft = tf.nn.depthwise_conv2d(images, BLUR, [1, 1, 1, 1], "SAME")
    blend = tf.random.uniform([tf.shape(images)[0], 1, 1, 1])
    return blend * soft + (1.0 - blend) * images, labels


rng = np.random.default_rng(0)
images = rng.random((IMAGES, SIDE, SIDE, 3), dtype=np.float32)
labels = rng.integers(0, 10, size=IMAGES)

dataset = tf.data.Dataset.from_tensor_slices((images, labels))
dataset = dataset.map(colours, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(32)
dataset = dataset.map(soften, num_parallel_calls=tf.data.AUTOTUNE)
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
