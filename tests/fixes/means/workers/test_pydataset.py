"""Batches that Keras asks for by number, made in other processes."""

import os

import keras
import numpy as np
import pytest
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter
from tests.fixes.means.workers.meeting import meet

from feedline import fixes
from feedline.fixes.fix import CannotFix, Edit
from feedline.fixes.means.workers import Refused
from feedline.fixes.means.workers.pydataset import parallel_pydataset
from feedline.job.tfdata.read import read
from feedline.prove.proof import Same
from feedline.prove.same import compare

pytestmark = pytest.mark.tensorflow


class Batches(keras.utils.PyDataset):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.rows = np.arange(24.0, dtype=np.float32)
        self.made_by = []

    def __len__(self):
        return 12

    def __getitem__(self, index):
        rows = self.rows[2 * index : 2 * index + 2]
        return rows[:, None] / 24, np.full((2, 1), os.getpid() % 1000 * 0.0 + 1)

    def on_epoch_end(self):
        self.rows = np.roll(self.rows, 5)


def trained(data, **kwargs):
    keras.utils.set_random_seed(3)
    seen = []

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(logs["loss"])

    model = keras.Sequential([keras.layers.Input([1]), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data, epochs=3, verbose=0, callbacks=[Watch()], **kwargs)
    return seen, [weights.tolist() for weights in model.get_weights()]


@pytest.mark.parametrize("shuffle", [True, False])
def test_pydataset_is_the_same(shuffle):
    parallel = parallel_pydataset(Batches(), 2)
    assert trained(parallel, shuffle=shuffle) == trained(Batches(), shuffle=shuffle)
    assert parallel.broken is None
    assert len(parallel) == parallel.num_batches == 12
    parallel.close()


@pytest.mark.parametrize("shuffle", [True, False])
def test_what_keras_makes_of_a_pydataset_is_read_as_the_same(shuffle):
    class Plain(Batches):
        def __getitem__(self, index):
            return self.rows[2 * index : 2 * index + 2], self.rows[index : index + 2]

    pipeline = read(PyDatasetAdapter(Plain(), shuffle=shuffle).get_tf_dataset())
    pipeline = pipeline.numbered()
    (stage,) = pipeline.find("from_generator")
    assert stage.rereadable
    assert stage.random is shuffle
    edit = Edit("worker-processes", stage.number, {"workers": 2})
    after = fixes.apply(pipeline, [edit])
    assert compare(pipeline, after, seconds=300.0) == Same(True, 24, 2, True)


def test_keras_goes_on_with_workers_of_its_own():
    pipeline = read(PyDatasetAdapter(Batches(workers=2)).get_tf_dataset()).numbered()
    (stage,) = pipeline.find("from_generator")
    with pytest.raises(CannotFix, match="its own workers already"):
        fixes.apply(pipeline, [Edit("worker-processes", stage.number, {"workers": 2})])


def test_pydataset_in_processes(tmp_path):
    folder, job = str(tmp_path), os.getpid()

    class Who(Batches):
        def __getitem__(self, index):
            meet(folder, job)
            return np.array([index, os.getpid()])

    parallel = parallel_pydataset(Who(), 2)
    batches = [parallel[n] for n in range(12)]
    assert [int(batch[0]) for batch in batches] == list(range(12))
    makers = [int(batch[1]) for batch in batches]
    assert makers[:2] == [os.getpid()] * 2
    assert len(set(makers[2:])) == 2
    assert os.getpid() not in makers[2:]
    assert [int(parallel[n][0]) for n in (3, 1, 4, 1, 5)] == [3, 1, 4, 1, 5]
    parallel.close()


def test_pydataset_fails():
    class Failing(Batches):
        def __getitem__(self, index):
            if index == 6:
                raise KeyError("six")
            return np.array([index])

    parallel = parallel_pydataset(Failing(), 2)
    assert [int(parallel[n][0]) for n in range(6)] == list(range(6))
    with pytest.raises(KeyError, match="six"):
        parallel[6]
    parallel.close()
    with pytest.raises(Refused, match="processes already"):
        parallel_pydataset(Batches(workers=2, use_multiprocessing=True))
