"""Changed: decoded batches are cached, not compressed records; 8 steps per launch.

The records come in the same order each time, so the finished batches (55 MB) are the
same in every epoch: computed in the first, kept for the others.

Grade: exact
"""

import sys
from pathlib import Path

import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from make_data import jpeg_records

SIDE = 96
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


def decode(record):
    example = tf.io.parse_single_example(record, FEATURES)
    image = tf.io.decode_jpeg(example["image"], channels=3)
    return tf.image.resize(image, (SIDE, SIDE)) / 255.0, example["label"]


def main():
    files = jpeg_records(count=500, side=384)
    dataset = tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)
    dataset = dataset.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(16).cache().prefetch(tf.data.AUTOTUNE)

    model = keras.Sequential(
        [
            keras.layers.Conv2D(8, 3, strides=4, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(
        optimizer="adam",
        loss="sparse_categorical_crossentropy",
        steps_per_execution=8,
    )
    model.fit(dataset, epochs=100, verbose=2)


if __name__ == "__main__":
    main()
