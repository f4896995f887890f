"""Changed: whole batches are parsed and cached; only the flip is left per epoch.

The records come in the same order each time, so the parsed batches (bytes, 24 MB) are
the same in every epoch and are kept. Flip and cast then work on whole batches. There
is little to gain: the time is the model's own.

Grade: exact
"""

import sys
from pathlib import Path

import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from make_data import pixel_records

SIDE = 64
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


def parse(records):
    examples = tf.io.parse_example(records, FEATURES)
    pixels = tf.io.decode_raw(examples["image"], tf.uint8)
    return tf.reshape(pixels, (-1, SIDE, SIDE, 3)), examples["label"]


def flip(images, labels):
    images = tf.image.random_flip_left_right(images)
    return tf.cast(images, tf.float32) / 255.0, labels


def main():
    files = pixel_records(count=2_000, side=SIDE)
    dataset = tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)
    dataset = dataset.batch(32)
    dataset = dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.cache()
    dataset = dataset.map(flip, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)

    model = keras.Sequential(
        [
            keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
            keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(2),
            keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(dataset, epochs=3, verbose=2)


if __name__ == "__main__":
    main()
