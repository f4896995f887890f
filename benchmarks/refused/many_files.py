"""A cache behind more than 10,000 files.

Left: more than 10,000 files, too many to look at again in every epoch
Fix: cache
Back: pack them into a few large ones, `feedline pack`
"""

import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
for number in range(10_100):
    (folder / f"{number:05}").write_bytes(rng.bytes(256))
names = sorted(str(path) for path in folder.iterdir())


def load(name):
    row = tf.io.decode_raw(tf.io.read_file(name), tf.uint8)
    row = tf.ensure_shape(tf.cast(row, tf.float32) / 255, (256,))
    return row, row[:1]


data = tf.data.Dataset.from_tensor_slices(names).map(load)
data = data.batch(64)  # by hand: data = data.cache().batch(64)
model = keras.Sequential([keras.Input((256,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(data, epochs=4, verbose=2)
