"""JPEG pictures in TFRecords, cached before they are decoded.

What is wrong: the cache stands at the wrong place. It keeps the compressed bytes,
which the operating system kept in memory anyway; decoding and resizing, the
expensive part, come after it and are done again in every epoch.

Cause: recomputed-every-epoch
Bound: input
"""

import keras
import tensorflow as tf
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
    dataset = dataset.cache()
    dataset = dataset.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(16).prefetch(tf.data.AUTOTUNE)

    model = keras.Sequential(
        [
            keras.layers.Conv2D(8, 3, strides=4, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(dataset, epochs=20, verbose=2)


if __name__ == "__main__":
    main()
