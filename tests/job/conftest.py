"""Small files to read, and a world without a seed. TensorFlow is imported only for
the tests that ask for these."""

import pytest


@pytest.fixture
def files(tmp_path):
    import tensorflow as tf

    for n in range(2):
        (tmp_path / f"{n}.txt").write_text(f"one {n}\ntwo {n}\n", "utf-8")
        rows = f"a,b\n{n},x\n{n + 2},y\n{n + 4},z\n"
        (tmp_path / f"{n}.csv").write_text(rows, "utf-8")
        with tf.io.TFRecordWriter(str(tmp_path / f"{n}.tfrecord")) as writer:
            writer.write(f"first {n}")
            writer.write(f"second {n}")
    return tmp_path


@pytest.fixture
def no_seed():
    """The global seed that a test sets ends with the test."""
    import tensorflow as tf

    tf.random.set_seed(None)
    yield
    tf.random.set_seed(None)
