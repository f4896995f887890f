"""Changed: a parallel map that works on the crop alone, but for the mean.

Contrast needs the mean of the whole picture, taken from its bytes; everything else is
done on the crop. The mean is rounded otherwise than before.

Grade: numeric
"""

import keras
import numpy as np
import tensorflow as tf

IMAGES = 4_000
SIDE = 128
CROP = 64


def augment(image, label):
    total = tf.reduce_sum(tf.cast(image, tf.int32), axis=[0, 1])
    mean = tf.cast(total, tf.float32) / (255.0 * SIDE * SIDE)
    image = tf.image.random_crop(image, [CROP, CROP, 3])
    image = tf.cast(image, tf.float32) / 255.0
    # (image + delta - (mean + delta)) * contrast + (mean + delta)
    delta = tf.random.uniform([], -0.2, 0.2)
    contrast = tf.random.uniform([], 0.8, 1.2)
    image = (image - mean) * contrast + (mean + delta)
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
        keras.layers.Conv2D(8, 3, strides=3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(dataset, steps_per_epoch=250, epochs=4, verbose=2)
