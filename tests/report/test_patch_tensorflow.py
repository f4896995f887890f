"""A patched script under TensorFlow: the stages of the plan, the elements and the
weights of the script as it was."""

from __future__ import annotations

import linecache
import sys

import numpy as np
import pytest

from feedline.fixes.fix import Edit
from feedline.report import patch
from tests.report.repository import repository

pytestmark = pytest.mark.tensorflow
__all__ = ["repository"]

PIPELINE = """\
import tensorflow as tf


def scale(x, y):
    # One of many.
    return tf.cast(x, tf.float32) / 7.0, y


def feed(count):
    dataset = tf.data.Dataset.range(count)
    dataset = dataset.map(lambda n: (n * n, n)).map(scale)  # twice
    dataset = dataset.filter(lambda x, y: y % 3 > 0)
    dataset = dataset.map(
        lambda x, y: (tf.stack([x, x]), y),
    )
    dataset = dataset.shuffle(16, seed=5)
    return (
        dataset
        .batch(4)
        .repeat(2)
    )


data = feed(64)
"""


@pytest.fixture
def run(monkeypatch, repository):
    """Runs the repository's script; datasets know the line that made them."""
    from tensorflow.python.data.ops import dataset_ops

    from feedline.job.script import hooks

    made = dataset_ops.DatasetV2.__init__

    def init(self, variant_tensor):
        made(self, variant_tensor)
        hooks._mark(self, sys._getframe(1))

    monkeypatch.setattr(dataset_ops.DatasetV2, "__init__", init)

    def run():
        linecache.clearcache()  # the script has changed since the last run
        scope = {"__name__": "__main__"}
        code = compile(repository.file.read_bytes(), str(repository.file), "exec")
        exec(code, scope)
        return scope

    return run


def shape(pipeline):
    """The stages, their arguments and functions."""
    return [
        (
            stage.op,
            {n: v for n, v in stage.args.items() if isinstance(v, int | bool | None)},
            [function.name for function in stage.functions],
        )
        for stage in pipeline.stages()
    ]


def elements(dataset):
    return [
        [np.asarray(part).tolist() for part in element]
        for element in dataset.as_numpy_iterator()
    ]


def test_the_patched_pipeline_is_the_planned_one(repository, run):
    from feedline import fixes
    from feedline.job.tfdata.read import read

    repository.write(PIPELINE)
    dataset = run()["data"]
    before = elements(dataset)
    pipeline = read(dataset).numbered()
    assert [stage.op for stage in pipeline.stages()] == (
        ["range", "map", "map", "filter", "map", "shuffle", "batch", "repeat"]
    )
    plan = [
        Edit("parallel-map", 2),
        Edit("shuffle-ids", 5),
        Edit("parallel-batch", 6),
        Edit("prefetch"),
        Edit("cache", 3, {"on_disk": False}),
    ]
    repository.apply(patch.places(pipeline, plan, None))
    assert repository.hows() == ["edit"] * len(plan)
    patched = run()["data"]
    assert shape(read(patched)) == shape(fixes.apply(pipeline, plan))
    assert elements(patched) == before
    after = repository.file.read_text("utf-8")
    assert "# One of many." in after
    assert "  # twice" in after

    now = read(patched).numbered()
    repository.apply(patch.places(now, [Edit("unordered")], None))
    loose = [s.args.get("deterministic") for s in read(run()["data"]).stages()]
    assert loose.count(False) == 2


def test_two_shuffles_move_before_the_same_maps(repository, run):
    from feedline import fixes
    from feedline.job.tfdata.read import read

    repository.write(
        "import tensorflow as tf\n"
        "data = tf.data.Dataset.range(64).map(lambda n: n * n).map(lambda n: (n, n))\n"
        "data = data.shuffle(9, seed=5).shuffle(7, seed=6).batch(4)\n"
    )
    dataset = run()["data"]
    pipeline = read(dataset).numbered()
    plan = [Edit("shuffle-ids", 3), Edit("shuffle-ids", 4)]
    repository.apply(patch.places(pipeline, plan, None))
    assert repository.hows() == ["edit", "edit"]
    patched = run()["data"]
    assert shape(read(patched)) == shape(fixes.apply(pipeline, plan))
    assert elements(patched) == elements(dataset)


TEXT = """\
import tensorflow as tf


def scale(x, y):
    return tf.cast(x, tf.float32) / 7.0, y


data = tf.data.Dataset.range(64).map(lambda n: ([n, n * n], n))
data = data.shuffle(16, seed=5)
data = data.map(scale)
data = data.batch(4)
"""


@pytest.mark.parametrize(
    ("edit", "stages"),
    [
        (Edit("vectorize-map", 3), ["range", "map", "shuffle", "batch", "map"]),
        (
            Edit("cache-before-shuffle", 2, {"maps": 1}),
            ["range", "map", "map", "cache", "shuffle", "batch"],
        ),
    ],
    ids=lambda each: getattr(each, "fix", ""),
)
def test_a_stage_that_moves_keeps_the_elements(repository, run, edit, stages):
    from feedline.job.tfdata.read import read

    repository.write(TEXT)
    dataset = run()["data"]
    twice = [elements(dataset), elements(dataset)]
    repository.apply(patch.places(read(dataset).numbered(), [edit], None))
    assert repository.hows() == ["edit"]
    patched = run()["data"]
    assert [stage.op for stage in read(patched).stages()] == stages
    assert [elements(patched), elements(patched)] == twice


MODEL = """\
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)
words = np.random.default_rng(0).integers(0, 50, (64, 5))
model = keras.Sequential([
    keras.layers.Embedding(50, 3),
    keras.layers.GlobalAveragePooling1D(),
    keras.layers.Dense(1),
])
model.compile(
    optimizer=keras.optimizers.SGD(0.1),
    loss="mse",
    run_eagerly=True,
)
data = tf.data.Dataset.from_tensor_slices((words, words[:, :1] * 1.0))
model.fit(data.batch(8), epochs=2, verbose=0)
"""


def test_the_patched_model_comes_to_the_same_weights(repository, run):
    from feedline.job.tfdata.pipeline import Pipeline, Stage, Where

    repository.write(MODEL)
    before = run()["model"].get_weights()
    line = MODEL.splitlines().index("model.fit(data.batch(8), epochs=2, verbose=0)") + 1
    where = Where(str(repository.file), line)
    edits = [
        Edit("compile-step"),
        Edit("steps-per-execution", None, {"steps": 4}),
        Edit("row-sparse-embedding", None, {"lazy": False}),
        Edit("prefetch"),
    ]
    pipeline = Pipeline(Stage("batch", where=where))
    after = repository.apply(patch.places(pipeline, edits, where)).decode()
    assert repository.hows() == ["edit"] * 4
    assert "    run_eagerly=False,\n    steps_per_execution=4,\n)" in after
    model = run()["model"]
    assert not model.run_eagerly
    assert model.steps_per_execution == 4
    assert "tf.data.AUTOTUNE" in after
    for one, other in zip(before, model.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
