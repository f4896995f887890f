"""The same augmentation on all cores.

Cause: none
Not: serial-map
"""

import tensorflow as tf
from emulated import accelerated_model
from pictures import augment, pictures

dataset = tf.data.Dataset.from_tensor_slices(pictures(500, side=160)).repeat()
dataset = dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(32).prefetch(2)
model = accelerated_model(ms=0.25)
model.fit(dataset, steps_per_epoch=500, epochs=8, verbose=0)
