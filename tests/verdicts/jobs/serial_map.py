"""Random augmentation on one core, twice as long as the emulated step.

Cause: serial-map
"""

import tensorflow as tf
from emulated import accelerated_model
from pictures import augment, pictures

dataset = tf.data.Dataset.from_tensor_slices(pictures(500, side=160)).repeat()
dataset = dataset.map(augment)
dataset = dataset.batch(32).prefetch(2)
model = accelerated_model(ms=0.25)
model.fit(dataset, steps_per_epoch=500, epochs=4, verbose=0)
