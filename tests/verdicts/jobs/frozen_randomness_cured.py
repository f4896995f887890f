"""The pictures are kept, and augmented anew in every epoch.

Cause: none
Not: frozen-randomness
"""

import tensorflow as tf
from emulated import accelerated_model
from pictures import augment, pictures

dataset = tf.data.Dataset.from_tensor_slices(pictures(640, side=32))
dataset = dataset.cache()
dataset = dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(32).prefetch(tf.data.AUTOTUNE)
model = accelerated_model(ms=4.0)
model.fit(dataset, epochs=10, verbose=0)
