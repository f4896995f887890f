"""The input works while the emulated step waits.

Cause: none
Not: no-prefetch
"""

import tensorflow as tf
from emulated import accelerated_model
from pictures import augment, pictures

options = tf.data.Options()
options.experimental_optimization.apply_default_optimizations = False

dataset = tf.data.Dataset.from_tensor_slices(pictures(500, side=128)).repeat()
dataset = dataset.map(augment)
dataset = dataset.batch(32).prefetch(2).with_options(options)
model = accelerated_model(ms=0.7)
model.fit(dataset, steps_per_epoch=100, epochs=10, verbose=0)
