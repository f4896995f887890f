"""The numbers of the pictures are shuffled, then they are augmented.

Cause: none
Not: shuffle-refill
"""

import tensorflow as tf
from emulated import accelerated_model
from pictures import augment, pictures

images, labels = map(tf.constant, pictures(1_600, side=128))


def load(number):
    return augment(images[number], labels[number])


dataset = tf.data.Dataset.range(1_600).shuffle(1_600)
dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(16).prefetch(2)
model = accelerated_model(ms=0.5)
model.fit(dataset, epochs=25, verbose=0)
