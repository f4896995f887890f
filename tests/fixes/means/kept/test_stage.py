"""A stage of Python that keeps results yields what it would yield without."""

from __future__ import annotations

import itertools
import os
import threading

import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedline.fixes.means.errors import Refused
from feedline.fixes.means.kept import files
from feedline.fixes.means.kept.stage import kept_stage
from feedline.job.tfdata.generators import user_code
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild

tf = pytest.importorskip("tensorflow")
pytestmark = [pytest.mark.tensorflow, pytest.mark.filterwarnings("ignore")]

ROWS = [f"{n},{n + 1},{n % 3}" for n in range(12)]


def parsed(line):
    numbers = [float(each) for each in line.split(",")]
    return np.array(numbers[:2], np.float32), np.array(numbers[2:], np.float32)


def lines(fails_at=None):
    for n, line in enumerate(itertools.cycle(ROWS)):
        if n == fails_at:
            raise ValueError(f"line {n} is bad")
        x, y = parsed(line)
        yield x[None], y[None]


def _source(pipeline):
    return next(s for s in pipeline.stages() if s.op == "from_generator")


def _kept(dataset):
    pipeline = read(dataset).numbered()
    source = _source(pipeline)
    kept = kept_stage(source)
    return rebuild(pipeline.swap(source, kept.stage())), kept


def _of_generator(*args):
    spec = (tf.TensorSpec((1, 2)), tf.TensorSpec((1, 1)))
    return tf.data.Dataset.from_generator(lambda: lines(*args), output_signature=spec)


def _bytes(elements):
    return [[part.numpy().tobytes() for part in element] for element in elements]


def test_a_generator_gives_the_same_and_computes_each_line_once():
    dataset = _of_generator()
    ours, kept = _kept(dataset)
    assert _bytes(ours.take(40)) == _bytes(dataset.take(40))
    assert kept.memory.made == len(ROWS)
    assert kept.memory.found >= 40 - len(ROWS)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 30))
def test_a_generator_that_fails_does_so_at_the_same_place(place):
    plain = _of_generator(place)
    ours, _ = _kept(plain)
    told = []
    for dataset in (plain, ours):
        iterator = iter(dataset)
        for _ in range(place):
            next(iterator)
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            next(iterator)
        told.append(f"ValueError: line {place} is bad" in str(error.value))
    assert told == [True, True]


def test_an_early_stop_leaves_nothing_behind():
    before, code = threading.active_count(), parsed.__code__
    ours, _ = _kept(_of_generator())
    iterator = iter(ours)
    next(iterator)
    del iterator
    assert parsed.__code__ is code
    assert threading.active_count() == before


def test_it_still_says_whose_code_it_is():
    from keras.src.trainers.data_adapters import get_data_adapter

    dataset = get_data_adapter(lines()).get_tf_dataset()
    ours, _ = _kept(dataset)
    name, where = user_code(_source(read(ours)).handle)
    assert name == "lines"
    assert where is not None
    assert where.line == lines.__code__.co_firstlineno


class Pictures(keras.utils.PyDataset):
    """Decodes files and then draws from a generator of its own."""

    def __init__(self, paths, size, *, inline):
        super().__init__()
        self.paths, self.size, self.inline = paths, size, inline
        self.rng = np.random.default_rng(3)

    def __len__(self):
        return len(self.paths) // 2

    def load(self, path):
        from PIL import Image

        with Image.open(path) as picture:
            return np.asarray(picture.convert("RGB").resize(self.size), np.float32)

    def __getitem__(self, index):
        from PIL import Image

        made = []
        for path in self.paths[2 * index : 2 * index + 2]:
            if self.inline:
                picture = Image.open(path).resize(self.size)
                one = np.asarray(picture.convert("RGB"), np.float32)
            else:
                one = self.load(path)
            made.append(one + self.rng.normal(0, 1, one.shape).astype(np.float32))
        return np.stack(made), np.zeros(2)

    def on_epoch_end(self):
        self.rng.shuffle(self.paths)


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """Files that are taken for settled though they are new."""
    monkeypatch.setattr(files, "_SETTLED_S", -1.0)
    image = pytest.importorskip("PIL.Image")
    found = []
    rng = np.random.default_rng(0)
    for n, kind in enumerate(("jpg", "png", "jpg", "png", "bmp", "jpg")):
        shape = (20, 24) if n == 3 else (20, 24, 3)
        path = tmp_path / f"{n}.{kind}"
        image.fromarray(rng.integers(0, 255, shape, dtype=np.uint8)).save(path)
        os.utime(path, (1e9, 1e9))
        found.append(str(path))
    return found


@pytest.mark.parametrize("inline", [True, False])
def test_a_pydataset_draws_as_it_would_and_decodes_once(paths, inline):
    from keras.src.trainers.data_adapters import get_data_adapter

    epochs = []
    for ours in (False, True):
        adapter = get_data_adapter(Pictures(list(paths), (8, 8), inline=inline))
        dataset = adapter.get_tf_dataset()
        if ours:
            dataset, kept = _kept(dataset)
        epochs.append([])
        for _ in range(4):
            adapter.on_epoch_begin()
            epochs[-1].append(_bytes(dataset))
            adapter.on_epoch_end()
    assert epochs[0] == epochs[1]
    assert kept.memory.made == len(paths)
    assert kept.memory.found == 3 * len(paths)
    assert any("which draws" in reason for reason in kept.reasons)


def test_a_picture_is_left_as_decoding_leaves_it(paths):
    from PIL import Image

    from feedline.fixes.means.kept.memory import Memory
    from feedline.fixes.means.kept.pictures import Decoding
    from feedline.fixes.means.kept.scope import Scope

    scope = Scope([Decoding(Memory(10**7))])
    plain = Image.ImageFile.load if hasattr(Image, "ImageFile") else None
    for path in paths:
        states = []
        for within in (False, True, True):
            picture = Image.open(path)
            if within:
                with scope:
                    picture.load()
            else:
                picture.load()
            state = {k: v for k, v in vars(picture).items() if k not in ("_im", "im")}
            states.append((repr(sorted(state)), picture.tobytes(), picture.info))
            picture.putpixel((0, 0), 0)
        assert states[0] == states[1] == states[2]
    assert plain is None or Image.ImageFile.load is plain


def test_what_keras_reads_with_workers_is_left_alone():
    from keras.src.trainers.data_adapters import get_data_adapter

    rows = Pictures(["a", "b"], (8, 8), inline=False)
    rows.workers = 2
    adapter = get_data_adapter(rows)
    dataset = tf.data.Dataset.from_generator(
        adapter._get_iterator,
        output_signature=(tf.TensorSpec((2, 8, 8, 3)), tf.TensorSpec((2,))),
    )
    with pytest.raises(Refused, match="its own workers"):
        _kept(dataset)
