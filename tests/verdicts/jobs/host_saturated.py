"""Augmentation on every core still takes several times as long as the step.

Cause: host-saturated
"""

import tensorflow as tf
from emulated import accelerated_model
from pictures import augment, pictures

dataset = tf.data.Dataset.from_tensor_slices(pictures(500, side=192)).repeat()
dataset = dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(32).prefetch(2)
model = accelerated_model(ms=0.1)
model.fit(dataset, steps_per_epoch=500, epochs=2, verbose=0)
