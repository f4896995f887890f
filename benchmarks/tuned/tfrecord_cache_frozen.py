"""Changed: nothing. What is wrong with it costs no time.

To move the flip behind the cache puts right what the model learns, which is another
training and not a faster one.

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


def flip(image, label):
    return tf.image.random_flip_left_right(image), label


def main():
    files = jpeg_records(count=500, side=384)
    dataset = tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)
    dataset = dataset.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.map(flip, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.cache()
    dataset = dataset.shuffle(500)
    dataset = dataset.batch(32).prefetch(tf.data.AUTOTUNE)

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
