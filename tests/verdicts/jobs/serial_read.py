"""Compressed files, unpacked one after the other in one thread. One epoch.

Cause: serial-read
"""

import tensorflow as tf
from emulated import accelerated_model
from records import compressed_files, numbers

files = compressed_files(files=400, records=100, size=300_000)
dataset = tf.data.TFRecordDataset(files, compression_type="GZIP")
dataset = dataset.batch(32).map(numbers).prefetch(tf.data.AUTOTUNE)
model = accelerated_model(ms=0.3)
model.fit(dataset, epochs=1, verbose=0)
