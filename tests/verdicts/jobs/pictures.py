"""Pictures for the planted jobs. Not a job."""

import numpy as np
import tensorflow as tf


def pictures(count, side):
    """Random pictures and their labels."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(count, side, side, 3), dtype=np.uint8)
    return images, rng.integers(0, 10, size=count)


def jpegs(count, side, different=64):
    """JPEG pictures as bytes; no more than `different` of them are made."""
    images, labels = pictures(min(count, different), side)
    encoded = [tf.io.encode_jpeg(image // 4 + 96).numpy() for image in images]
    times = -(-count // len(encoded))
    return (encoded * times)[:count], np.tile(labels, times)[:count]


def augment(image, label):
    """Random, so that TensorFlow leaves a serial map serial: 0.5 to 1 ms at 128."""
    image = tf.cast(image, tf.float32) / 255.0
    image = tf.image.random_brightness(image, max_delta=0.2)
    image = tf.image.random_saturation(image, lower=0.8, upper=1.2)
    image = tf.image.random_flip_left_right(image)
    return image, label
