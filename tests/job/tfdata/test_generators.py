"""Whose code stands behind a `from_generator`."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from feedline.job.tfdata.read import read

tf = pytest.importorskip("tensorflow")


def examples():
    while True:
        yield np.ones((2, 3), np.float32), np.ones((2, 1), np.float32)


class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return np.ones((2, 3), np.float32), np.ones((2, 1), np.float32)


def _function(given):
    from keras.src.trainers.data_adapters import get_data_adapter

    dataset = get_data_adapter(given).get_tf_dataset()
    (source,) = (s for s in read(dataset).stages() if s.op == "from_generator")
    (function,) = source.functions
    return function


@pytest.mark.tensorflow
@pytest.mark.filterwarnings("ignore")
def test_the_generator_that_was_given_to_fit_is_named_with_its_line() -> None:
    function = _function(examples())
    assert function.name == "examples"
    assert function.where is not None
    assert function.where.line == examples.__code__.co_firstlineno


@pytest.mark.tensorflow
@pytest.mark.filterwarnings("ignore")
def test_the_getitem_of_a_pydataset_is_named_with_its_line() -> None:
    function = _function(Rows())
    assert function.name == "Rows.__getitem__"
    assert function.where is not None
    assert function.where.line == Rows.__getitem__.__code__.co_firstlineno


@pytest.mark.tensorflow
def test_a_function_of_the_user_keeps_its_name() -> None:
    spec = (tf.TensorSpec((2, 3)), tf.TensorSpec((2, 1)))
    dataset = tf.data.Dataset.from_generator(examples, output_signature=spec)
    (function,) = read(dataset).root.functions
    assert function.name == "examples"
