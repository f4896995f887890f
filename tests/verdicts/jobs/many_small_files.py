"""Every record in a file of its own, drawn with replacement. One epoch.

Cause: many-small-files
"""

import random

import keras
import tensorflow as tf
from records import numbers, small_files

files = random.Random(0).choices(small_files(2_000, size=200), k=500_000)
dataset = tf.data.TFRecordDataset(files)
dataset = dataset.batch(512).map(numbers).prefetch(tf.data.AUTOTUNE)
model = keras.Sequential([keras.layers.Dense(10, activation="softmax")])
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
model.fit(dataset, epochs=1, verbose=0)
