"""JPEG files listed, read, decoded, resized and flipped, one after the other.

What is wrong: `map(load)` runs on one core. Decoding is the work, and TensorFlow
would spread it over the cores by itself if the same function did not also flip
the picture at random.

Cause: serial-map
Bound: input
"""

import keras
import tensorflow as tf
from make_data import jpeg_files

SIDE = 96


def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (SIDE, SIDE)) / 255.0
    image = tf.image.random_flip_left_right(image)
    name = tf.strings.split(path, "/")[-1]
    label = tf.strings.to_number(tf.strings.split(name, "-")[0], tf.int32)
    return image, label


def main():
    folder = jpeg_files(count=320, side=384)
    dataset = tf.data.Dataset.list_files(f"{folder}/*.jpg", seed=1)
    dataset = dataset.map(load).batch(32).repeat()

    model = keras.Sequential(
        [
            keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            keras.layers.MaxPooling2D(2),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    model.fit(dataset, steps_per_epoch=100, epochs=6, verbose=2)


if __name__ == "__main__":
    main()
