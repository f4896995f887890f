"""Changed: the flip stands behind the cache and takes whole batches.

What is put right is what the model learns, not the time: the flips differ again from
epoch to epoch, as they were meant to. It costs next to nothing.

Grade: exact
"""

import sys
from pathlib import Path

import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from make_data import jpeg_records

SIDE = 64
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


def decode(record):
    example = tf.io.parse_single_example(record, FEATURES)
    image = tf.io.decode_jpeg(example["image"], channels=3)
    return tf.image.resize(image, (SIDE, SIDE)) / 255.0, example["label"]


def flip(images, labels):
    return tf.image.random_flip_left_right(images), labels


def main():
    files = jpeg_records(count=500, side=384)
    dataset = tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)
    dataset = dataset.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.cache()
    dataset = dataset.shuffle(500).batch(32)
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
    model.fit(dataset, epochs=12, verbose=2)


if __name__ == "__main__":
    main()
