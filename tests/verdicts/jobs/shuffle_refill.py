"""Every epoch waits for a buffer of augmented pictures to fill.

Cause: shuffle-refill
"""

import tensorflow as tf
from emulated import accelerated_model
from pictures import augment, pictures

dataset = tf.data.Dataset.from_tensor_slices(pictures(1_600, side=128))
dataset = dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.shuffle(1_600)
dataset = dataset.batch(16).prefetch(2)
model = accelerated_model(ms=0.5)
model.fit(dataset, epochs=15, verbose=0)
