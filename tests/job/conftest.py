"""Small files to read."""

import pytest
import tensorflow as tf


@pytest.fixture
def files(tmp_path):
    for n in range(2):
        (tmp_path / f"{n}.txt").write_text(f"one {n}\ntwo {n}\n")
        (tmp_path / f"{n}.csv").write_text(f"a,b\n{n},x\n{n + 2},y\n{n + 4},z\n")
        with tf.io.TFRecordWriter(str(tmp_path / f"{n}.tfrecord")) as writer:
            writer.write(f"first {n}")
            writer.write(f"second {n}")
    return tmp_path
