"""`rebuild(read(dataset))` is `dataset`; altered pipelines become datasets."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from tests.job.cases import CASES, Unheard, is_odd, numbers, twice, vectors
from tests.job.elements import elements, epochs, ops, remade, value
from tests.job.strategies import recipes

from feedline.errors import CannotRebuild, FeedlineError
from feedline.job.tfdata.pipeline import Pipeline, Stage, Where
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild
from feedline.job.tfdata.reuse import reusing

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("no_seed")]


def same(dataset, twin):
    """Everything but the elements."""
    assert twin.element_spec == dataset.element_spec
    assert int(twin.cardinality()) == int(dataset.cardinality())
    assert read(twin).options == read(dataset).options


LAW = settings(
    max_examples=12, deadline=None, derandomize=True, suppress_health_check=HealthCheck
)


@LAW
@given(recipes())
def test_law(recipe):
    holds(recipe)


@pytest.mark.slow
@settings(LAW, max_examples=200)
@given(recipes())
def test_law_of_many_more(recipe):
    holds(recipe)


def holds(recipe):
    dataset, names = recipe.cook()
    pipeline = read(dataset)
    assert ops(pipeline) == names
    assert rebuild(pipeline) is dataset
    expected = epochs(dataset)
    # The job has been read by now; what is made again starts from the beginning.
    for twin in (rebuild(pipeline, fresh=True), rebuild(remade(pipeline))):
        same(dataset, twin)
        assert epochs(twin) == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_operation(case, files):
    dataset = case.make(files)
    pipeline = read(dataset)
    fresh = rebuild(pipeline, fresh=True)
    anew = rebuild(remade(pipeline), fresh=True)
    expected = epochs(dataset)
    for twin in (fresh, anew):
        same(dataset, twin)
        assert epochs(twin) == expected
    assert ops(read(fresh)) == case.ops


# Altered pipelines


def altered(pipeline, stage, **changes):
    """`pipeline` with the last stage of that name changed."""
    target = pipeline.find(stage)[-1]

    def copy(one):
        if one is target:
            return replace(one, **changes)
        return replace(one, inputs=tuple(copy(upstream) for upstream in one.inputs))

    return Pipeline(copy(pipeline.root), pipeline.options)


def with_args(pipeline, stage, **args):
    old = pipeline.find(stage)[-1].args
    return altered(pipeline, stage, args={**old, **args})


def sampled(weights):
    return tf.data.Dataset.sample_from_datasets([numbers(), numbers(4)], weights, 1)


def grouped(size):
    return numbers().group_by_window(is_odd, lambda key, group: group.batch(9), size)


@pytest.mark.parametrize(
    ("before", "stage", "args", "after"),
    [
        (
            lambda: numbers().batch(2),
            "batch",
            {"batch_size": 4},
            lambda: numbers().batch(4),
        ),
        (
            lambda: numbers().map(twice).batch(2),
            "map",
            {"num_parallel_calls": -1, "deterministic": True},
            lambda: numbers().map(twice, -1, True).batch(2),
        ),
        (
            lambda: numbers().map(twice, 4),
            "map",
            {"num_parallel_calls": None},
            lambda: numbers().map(twice),
        ),
        (
            lambda: numbers().interleave(tf.data.Dataset.from_tensors, 1),
            "interleave",
            {"num_parallel_calls": 2, "cycle_length": 2},
            lambda: numbers().interleave(tf.data.Dataset.from_tensors, 2, 1, 2),
        ),
        (
            lambda: numbers().shuffle(9, seed=3),
            "shuffle",
            {"buffer_size": 2},
            lambda: numbers().shuffle(2, seed=3),
        ),
        (
            lambda: numbers().shuffle(9, seed=3),
            "shuffle",
            {"seed": 4},
            lambda: numbers().shuffle(9, seed=4),
        ),
        (lambda: numbers(9), "range", {"stop": 4}, lambda: numbers(4)),
        (
            lambda: tf.data.Dataset.counter(1).take(4),
            "counter",
            {"step": 3},
            lambda: tf.data.Dataset.counter(1, 3).take(4),
        ),
        (
            lambda: numbers().enumerate(),
            "enumerate",
            {"start": 3},
            lambda: numbers().enumerate(3),
        ),
        (
            lambda: sampled(None),
            "sample_from_datasets",
            {"weights": (0.9, 0.1)},
            lambda: sampled([0.9, 0.1]),
        ),
        (
            lambda: vectors().bucket_by_sequence_length(tf.size, [2], [2, 2]),
            "bucket_by_sequence_length",
            {"bucket_batch_sizes": (1, 3)},
            lambda: vectors().bucket_by_sequence_length(tf.size, [2], [1, 3]),
        ),
        (
            lambda: grouped(2),
            "group_by_window",
            {"window_size": 3},
            lambda: grouped(3),
        ),
    ],
)
def test_altered_arguments(before, stage, args, after):
    dataset, expected = rebuild(with_args(read(before()), stage, **args)), after()
    same(expected, dataset)
    assert epochs(dataset) == epochs(expected)
    shown = read(dataset).find(stage)[-1].args
    assert {name: shown[name] for name in args} == args


def test_altered_sources(files):
    text = tf.data.TextLineDataset([str(files / "0.txt"), str(files / "1.txt")])
    one = with_args(read(text), "text_line", filenames=(str(files / "1.txt"),))
    assert [v for _, _, v in elements(rebuild(one))] == [b"one 1", b"two 1"]

    found = tf.data.Dataset.list_files(str(files / "*.txt"), seed=1)
    ordered = rebuild(with_args(read(found), "list_files", shuffle=False))
    names = [Path(v.decode()).name for _, _, v in elements(ordered)]
    assert names == ["0.txt", "1.txt"]

    def csv(size):
        return tf.data.experimental.make_csv_dataset(
            str(files / "*.csv"), size, num_epochs=1, shuffle=False
        )

    larger = rebuild(with_args(read(csv(2)), "make_csv_dataset", batch_size=3))
    same(csv(3), larger)
    assert elements(larger) == elements(csv(3))


def test_new_stages():
    def triple(x):
        return x * 3

    source = read(numbers()).root
    mapped = Stage("map", (source,), {"func": triple, "num_parallel_calls": 2})
    cached = Stage("cache", (mapped,))
    shuffled = Stage("shuffle", (cached,), {"buffer_size": 4, "seed": 1})
    taken = Stage("take", (shuffled,), {"count": 6})
    batched = Stage("batch", (taken,), {"batch_size": 4})
    root = Stage("prefetch", (batched,), {"buffer_size": -1})
    expected = numbers().map(triple).cache().shuffle(4, 1).take(6).batch(4).prefetch(-1)
    dataset = rebuild(Pipeline(root))
    same(expected, dataset)
    assert epochs(dataset) == epochs(expected)
    names = ["range", "map", "cache", "shuffle", "take", "batch", "prefetch"]
    assert ops(read(dataset)) == names


def test_a_pipeline_by_hand():
    source = Stage("range", args={"stop": 5})
    branches = (Stage("filter", (source,), {"func": lambda x: x > 2}), source)
    dataset = rebuild(Pipeline(Stage("concatenate", branches)))
    assert [v for _, _, v in elements(dataset)] == [3, 4, 0, 1, 2, 3, 4]


def test_a_stage_taken_out():
    root = read(numbers().cache().map(twice)).root
    dataset = rebuild(Pipeline(replace(root, inputs=root.inputs[0].inputs)))
    assert ops(read(dataset)) == ["range", "map"]
    assert elements(dataset) == elements(numbers().map(twice))


def test_another_operation_with_the_same_function():
    traces = []

    def twin(x):
        traces.append(x)
        return tf.data.Dataset.from_tensors(x).repeat(2)

    pipeline = altered(
        read(numbers().flat_map(twin)),
        "flat_map",
        op="interleave",
        args={"cycle_length": 1, "num_parallel_calls": 1},
    )
    dataset = rebuild(pipeline)
    assert ops(read(dataset)) == ["range", "interleave"]
    assert elements(dataset) == elements(numbers().flat_map(twin))
    assert len(traces) == 2  # one for each flat_map


def test_altered_options():
    options = tf.data.Options()
    options.deterministic = True
    pipeline = read(numbers().with_options(options))
    chosen = {
        "deterministic": False,
        "experimental_distribute.auto_shard_policy": "DATA",
    }
    dataset = rebuild(replace(pipeline, options=chosen))
    assert read(dataset).options == chosen


def test_lines_stay_with_their_stages():
    dataset = numbers().map(twice)
    dataset._feedline_where = Where("train.py", 7)
    again = read(rebuild(remade(read(dataset))))
    assert again.root.where == Where("train.py", 7)


# What is used again, and what is not


def test_what_did_not_change_is_used_again():
    cached = numbers().map(twice).cache()
    dataset = cached.batch(2)
    assert rebuild(read(dataset)) is dataset
    larger = rebuild(with_args(read(dataset), "batch", batch_size=3))
    assert larger is not dataset
    assert larger._input_dataset is cached


def test_a_shared_branch_stays_shared():
    calls = []

    def note(x):
        calls.append(x)
        return x

    shared = numbers(3).map(lambda x: tf.numpy_function(note, [x], tf.int64)).cache()
    dataset = shared.concatenate(shared.map(lambda x: -x))
    elements(rebuild(read(dataset), fresh=True))
    assert len(calls) == 3  # filled by one branch, read by the other


def test_functions_are_not_traced_again():
    traces = []

    def note(x):
        traces.append("map")
        return x + 1

    def keep(x):
        traces.append("filter")
        return x > 2

    def key(x):
        traces.append("key")
        return x % 2

    dataset = (
        numbers()
        .map(note)
        .filter(keep)
        .group_by_window(key, lambda k, group: group.batch(2), 2)
    )
    dataset = dataset.unbatch().scan(np.int64(0), lambda s, x: (s + x, note(s)))
    traces.clear()
    pipeline = with_args(remade(read(dataset)), "map", num_parallel_calls=2)
    assert elements(rebuild(pipeline)) == elements(dataset)
    assert traces == []


def test_other_threads_trace_as_ever():
    traces = []

    def note(x):
        traces.append(x)
        return x

    mapped = numbers().map(note)
    thread = threading.Thread(target=lambda: numbers().map(note))
    with reusing([mapped._map_func], []):
        thread.start()
        thread.join()
        assert numbers().map(note)._map_func is mapped._map_func
    assert len(traces) == 2


def test_a_function_is_traced_again_for_other_inputs():
    pipeline = read(numbers().map(twice))
    cast = Stage(
        "map", pipeline.root.inputs, {"func": lambda x: tf.cast(x, tf.float32)}
    )
    dataset = rebuild(Pipeline(replace(pipeline.root, inputs=(cast,))))
    assert dataset.element_spec == tf.TensorSpec([], tf.float32)


def test_no_seed_is_drawn():
    def draws(look):
        tf.random.set_seed(None)
        unseeded = numbers().shuffle(9)
        tf.random.set_seed(1)
        dataset = numbers().shuffle(9).map(lambda x: tf.random.uniform([])).shuffle(9)
        dataset = tf.data.Dataset.sample_from_datasets([dataset, dataset])
        look(unseeded)
        look(dataset)
        return (
            value(tf.random.uniform([])),
            epochs(dataset),
            epochs(numbers().shuffle(9)),
        )

    def rebuild_all(dataset):
        for fresh in (True, False):
            rebuild(read(dataset), fresh=fresh)
            rebuild(remade(read(dataset)), fresh=fresh)

    assert draws(rebuild_all) == draws(lambda dataset: None)


def test_seeds_that_were_drawn_are_used_again():
    tf.random.set_seed(1)
    dataset = numbers().shuffle(9).map(lambda x: tf.random.uniform([]))
    tf.random.set_seed(2)
    twin = rebuild(remade(read(dataset)))
    assert epochs(twin) == epochs(dataset)


# A fresh pipeline leaves the job's own alone


def test_fresh_does_not_advance_the_jobs_shuffle():
    dataset = numbers().shuffle(9, seed=1).repeat(2)
    first = elements(dataset)
    fresh = rebuild(read(dataset), fresh=True)
    assert elements(fresh) == first
    elements(fresh)
    twin = numbers().shuffle(9, seed=1).repeat(2)
    elements(twin)
    assert elements(dataset) == elements(twin)


def test_fresh_has_a_cache_of_its_own():
    calls = []

    def note(x):
        calls.append(int(x))
        return x

    dataset = numbers(2).map(lambda x: tf.numpy_function(note, [x], tf.int64)).cache()
    elements(dataset)
    fresh = rebuild(read(dataset), fresh=True)
    epochs(fresh)
    assert calls == [0, 1, 0, 1]


def test_fresh_writes_nothing_where_the_job_writes(files):
    target = files / "new"
    target.mkdir()
    for dataset in (
        numbers().cache(str(target / "cache")).batch(2),
        numbers().snapshot(str(target / "snapshot")).batch(2),
    ):
        assert epochs(rebuild(read(dataset), fresh=True)) == epochs(numbers().batch(2))
        assert list(target.iterdir()) == []


def test_fresh_reads_a_complete_cache_file(files):
    dataset = numbers().cache(str(files / "cache"))
    elements(dataset)
    fresh = rebuild(read(dataset), fresh=True)
    assert read(fresh).root.args["filename"] == str(files / "cache")
    assert elements(fresh) == elements(numbers())


# What cannot be made


def test_an_unknown_stage_is_used_as_it_is_or_not_at_all():
    dataset = Unheard(numbers().map(twice)).shuffle(3, 1)
    assert elements(rebuild(read(dataset), fresh=True)) == elements(dataset)
    pipeline = read(Unheard(numbers().map(twice)))
    with pytest.raises(CannotRebuild, match="opaque"):
        rebuild(with_args(pipeline, "map", num_parallel_calls=2))


RANGE = Stage("range", args={"stop": 3})


@pytest.mark.parametrize(
    ("stage", "reason"),
    [
        (Stage("levitate", where=Where("train.py", 3)), "levitate.*train.py:3"),
        (
            Stage("batch", (Stage("range", args={"stop": 3}),), {"size": 3}),
            "batch.*size",
        ),
        (Stage("batch", args={"batch_size": 3}), "batch.*no input"),
        (Stage("from_list"), "from_list"),
    ],
)
def test_what_cannot_be_made_is_named(stage, reason):
    with pytest.raises(CannotRebuild, match=reason) as caught:
        rebuild(Pipeline(stage))
    assert isinstance(caught.value, FeedlineError)
