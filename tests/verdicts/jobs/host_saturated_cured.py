"""The same pictures, only flipped: the cores are idle half of the time.

Cause: none
Not: host-saturated
"""

import tensorflow as tf
from emulated import accelerated_model
from pictures import pictures


def flip(image, label):
    return tf.image.random_flip_left_right(image), label


dataset = tf.data.Dataset.from_tensor_slices(pictures(500, side=64)).repeat()
dataset = dataset.map(flip, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(32).prefetch(2)
model = accelerated_model(ms=0.5)
model.fit(dataset, steps_per_epoch=500, epochs=4, verbose=0)
