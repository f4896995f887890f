"""The same files, several at a time.

Cause: none
Not: serial-read
"""

import tensorflow as tf
from emulated import accelerated_model
from records import compressed_files, numbers

files = compressed_files(files=800, records=100, size=300_000)
dataset = tf.data.TFRecordDataset(files, "GZIP", num_parallel_reads=4)
dataset = dataset.batch(32).map(numbers).prefetch(tf.data.AUTOTUNE)
model = accelerated_model(ms=0.3)
model.fit(dataset, epochs=1, verbose=0)
