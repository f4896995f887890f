"""An emulated accelerator, for the planted jobs. Not a job.

A layer that waits a set time for every example without using the CPU, which is
what a GPU looks like from the host. It makes the planted truth exact on a machine
with two cores: the input has both of them for itself, and the step takes as long
as it is told to.
"""

import time

import keras
import numpy as np
import tensorflow as tf

# The wait occupies one of TensorFlow's threads, which a GPU would not. There must
# be more of them than cores, or the input would work on one core less.
tf.config.threading.set_inter_op_parallelism_threads(8)


class EmulatedAccelerator(keras.layers.Layer):
    """Waits `ms` for every example, then hands on the first 16 numbers of each."""

    def __init__(self, ms):
        super().__init__()
        self.seconds = ms / 1e3

    def call(self, inputs):
        examples = tf.shape(inputs)[0]
        waited = tf.numpy_function(self._wait, [examples], tf.float32, stateful=True)
        waited.set_shape([])
        flat = tf.reshape(tf.cast(inputs, tf.float32), [examples, -1])
        return flat[:, :16] + waited

    def compute_output_shape(self, input_shape):
        return (input_shape[0], 16)

    def _wait(self, examples):
        time.sleep(self.seconds * int(examples))
        return np.float32(0.0)


def accelerated_model(ms):
    """A classifier on an emulated accelerator that takes `ms` per example."""
    model = keras.Sequential([EmulatedAccelerator(ms), keras.layers.Dense(10)])
    model.compile(
        optimizer="sgd",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model
