"""TFRecord files for the planted jobs, under the working directory. Not a job."""

import os
from pathlib import Path

import numpy as np
import tensorflow as tf


def compressed_files(files, records, size):
    """GZIP files of the same `records` records of `size` bytes.

    One is written; the others are hard links to it, so that an epoch is long and
    the disk stays empty.
    """
    folder = Path("compressed")
    folder.mkdir()
    first = folder / "0000.tfrecord.gz"
    rng = np.random.default_rng(0)
    with tf.io.TFRecordWriter(str(first), "GZIP") as writer:
        for _ in range(records):
            writer.write(rng.integers(0, 9, size=size, dtype=np.uint8).tobytes())
    for number in range(1, files):
        os.link(first, folder / f"{number:04}.tfrecord.gz")
    return sorted(str(path) for path in folder.iterdir())


def small_files(files, size):
    """One record of `size` bytes in each of many files."""
    folder = Path("small")
    folder.mkdir()
    for number in range(files):
        with tf.io.TFRecordWriter(str(folder / f"{number:05}.tfrecord")) as writer:
            writer.write(bytes([number % 256]) * size)
    return sorted(str(path) for path in folder.iterdir())


def one_file(records, size):
    """The same records in one file."""
    path = Path("all.tfrecord")
    with tf.io.TFRecordWriter(str(path)) as writer:
        for number in range(records):
            writer.write(bytes([number % 256]) * size)
    return str(path)


def numbers(records):
    """A batch of records as numbers, and a label for each."""
    pixels = tf.strings.substr(records, 0, 64)
    pixels = tf.reshape(tf.io.decode_raw(pixels, tf.uint8), [-1, 64])
    return tf.cast(pixels, tf.float32), tf.cast(pixels[:, 0] % 10, tf.int64)
