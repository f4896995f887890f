"""Several steps a launch, where nobody knows how many steps an epoch has.

Left: the number of steps in an epoch is not known beforehand (a filter, a generator)
Fix: steps-per-execution
Back: nothing; give `fit` the number by `steps_per_epoch`, or count them once
"""

import keras
import numpy as np
import tensorflow as tf

rows = np.random.default_rng(0).standard_normal((3200, 8), dtype=np.float32)
data = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
data = data.filter(lambda x, _: x[0] < 9.0).batch(4)  # the filter keeps all: 800 steps
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
more = {}  # by hand: more = {"steps_per_execution": 32}
model.compile("sgd", "mse", **more)
model.fit(data, epochs=4, verbose=2)
