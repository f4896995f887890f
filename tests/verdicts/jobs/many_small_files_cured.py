"""The same records in one file.

Cause: none
Not: many-small-files
"""

import keras
import tensorflow as tf
from records import numbers, one_file

dataset = tf.data.TFRecordDataset(one_file(2_000, size=200)).repeat(5_000)
dataset = dataset.batch(512).map(numbers).prefetch(tf.data.AUTOTUNE)
model = keras.Sequential([keras.layers.Dense(10, activation="softmax")])
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
model.fit(dataset, epochs=1, verbose=0)
