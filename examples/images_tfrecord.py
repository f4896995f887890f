"""Images from TFRecords, parsed and augmented in parallel, prefetched.

Nothing is wrong with it: the input is ready when the model asks, and what takes
the time is the model's own arithmetic. A tool that suggests another prefetch
here has not measured.

Cause: none
Bound: compute
"""

import keras
import tensorflow as tf
from make_data import pixel_records

SIDE = 64
FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


def parse(record):
    example = tf.io.parse_single_example(record, FEATURES)
    image = tf.reshape(tf.io.decode_raw(example["image"], tf.uint8), (SIDE, SIDE, 3))
    image = tf.image.random_flip_left_right(image)
    return tf.cast(image, tf.float32) / 255.0, example["label"]


def main():
    files = pixel_records(count=2_000, side=SIDE)
    dataset = tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)
    dataset = dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
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
    model.fit(dataset, epochs=3, verbose=2)


if __name__ == "__main__":
    main()
