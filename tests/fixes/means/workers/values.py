"""What a dataset gives, as plain Python."""

import numpy as np
import tensorflow as tf


def values(dataset):
    return [
        [np.asarray(one).tolist() for one in tf.nest.flatten(element)]
        for element in dataset
    ]
