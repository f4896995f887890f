"""`feedline.tune` never changes an element, whatever the pipeline.

Two tiers. Every proposal of every fix, forced on random pipelines by costs that
make all of them look worthwhile, and compared by the tests' own means, not by
feedline's. And the real thing: measured, proved, applied; slow, where what is found
out by measuring matters.
"""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
import warnings
from collections import Counter
from dataclasses import replace

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import feedline
from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import CannotFix, Case, Edit
from feedline.job.job import Job
from feedline.job.loops.snapshot import variables_of
from feedline.job.tfdata.read import read
from feedline.job.tfdata.rebuild import rebuild
from feedline.measure.measurement import Estimate, StageCost
from feedline.prove.proof import Faster
from feedline.session.tuning import tuned_dataset
from tests.causes.build import HOST, about, case
from tests.job.cases import CASES
from tests.job.elements import epochs
from tests.job.strategies import recipes
from tests.place import LIMIT

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore::UserWarning:keras"),
]

MOST = 200
REFUSALS = (CannotFix, FeedlineError)
TRIED = {
    "input:as-is": about(90.0),
    "input:unordered": about(10.0),
    "input:vectorized": about(1.0),
}


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """A store of its own, and no global seed before or after."""
    monkeypatch.setenv("FEEDLINE_CACHE", str(tmp_path / "store"))
    tf.random.set_seed(None)
    yield
    tf.random.set_seed(None)


# ------------------------------------------------------------- forced proposals


def looked_at(dataset) -> Case:
    """A case in which every stage is dear, so that every fix has a word to say."""
    pipeline = read(dataset).numbered()
    costs = tuple(
        StageCost(
            index=stage.number,
            name=stage.op,
            ms_per_element=1.0,
            ms_per_batch=50.0 if stage.functions or "record" in stage.op else 1.0,
            bytes_per_element=100.0,
            elements_per_batch=8.0 if stage.op == "filter" else 32.0,
        )
        for stage in pipeline.stages()
    )
    measured = case(
        observed=500.0,
        machine=replace(HOST, free_disk_gb=100.0),
        step={"epoch_start": 100.0},
        what_if=TRIED,
    ).measured
    measured = replace(measured, stages=costs)
    cardinality = pipeline.cardinality
    job = Job(
        "fit",
        pipeline=pipeline,
        epochs=5,
        steps_per_epoch=cardinality if cardinality > 0 else 10,
    )
    return Case(job, measured, pipeline, costs)


def bag(epoch):
    """The plain numbers in an epoch: in another order batches, and batches of
    batches, hold other elements."""
    return Counter(
        repr(number) for _, _, numbers in epoch for number in leaves(numbers)
    )


def leaves(numbers):
    if not isinstance(numbers, list):
        yield numbers
        return
    for each in numbers:
        yield from leaves(each)


def plain(element):
    """One tensor, whose numbers can be put into a bag."""
    kind = element[0] if isinstance(element, tuple) else None
    return isinstance(kind, str) and kind != "sparse"


def check(cook, edits, grade, expected):
    """False where the edits are refused. A dataset that nobody has read each time:
    the tuned one shares its shuffles."""
    try:
        dataset = cook()
        tuned = tuned_dataset(dataset, edits)
    except REFUSALS:
        return False
    assert tuned.element_spec == dataset.element_spec
    if grade == "reordered":
        for now, was in zip(epochs(tuned, 10**4), expected, strict=True):
            assert bag(now) == bag(was), edits
    else:
        assert epochs(tuned, MOST) == expected, edits
        assert int(tuned.cardinality()) == int(dataset.cardinality())
    return True


def seen_by_itself(cook):
    return epochs(cook(), MOST)


def pieces(proposals):
    """Each proposal alone; a cache on disk as well as in memory."""
    for proposal in proposals:
        yield proposal.edit, proposal.grade
        if proposal.edit.fix == "cache":
            yield Edit("cache", proposal.edit.stage, {"on_disk": True}), "exact"


def one_by_one(cook) -> set[str]:
    """Every proposal alone. Returns the fixes that were applied."""
    done = set()
    expected = seen_by_itself(cook)
    if not expected[0]:
        return done
    endless = len(expected[0]) == MOST
    for edit, grade in pieces(fixes.proposals(looked_at(cook()), fixes.GRADES[:3])):
        unclear = endless or not plain(expected[0][0])
        if grade == "numeric" or (grade == "reordered" and unclear):
            continue
        if check(cook, (edit,), grade, expected):
            done.add(edit.fix)
    return done


def all_together(cook) -> None:
    """One exact proposal on top of the other, as long as there are any."""
    from feedline.fixes.plan import advanced

    now, step = looked_at(cook()), 10.0
    for _ in range(12):
        waiting = list(fixes.proposals(now, ("exact",)))
        for proposal in waiting:
            try:
                now, step = advanced(now, step, proposal)
                break
            except REFUSALS:
                continue
        else:
            break
    if now.edits:
        check(cook, now.edits, "exact", seen_by_itself(cook))


settings.register_profile(
    "tune", deadline=None, derandomize=False, suppress_health_check=HealthCheck
)


@settings(settings.get_profile("tune"), max_examples=15, derandomize=True)
@given(recipes())
def test_every_edit_of_any_pipeline_keeps_the_elements(recipe):
    def cook():
        return recipe.cook()[0]

    one_by_one(cook)
    all_together(cook)


# What the random pipelines seldom or never have.
def _records(files):
    names = [str(files / f"{n}.tfrecord") for n in (0, 1)]
    return tf.data.TFRecordDataset(names).map(tf.strings.length).batch(2)


def _files(files):
    names = tf.data.Dataset.from_tensor_slices(
        [str(files / f"{n}.txt") for n in (0, 1)]
    )
    return names.flat_map(tf.data.TextLineDataset).map(tf.strings.upper).batch(2)


def _turns(files):
    names = tf.data.Dataset.from_tensor_slices(
        [str(files / f"{n}.txt") for n in (0, 1)]
    )
    return names.interleave(tf.data.TextLineDataset, cycle_length=2).batch(3)


def _drawn(files):
    def augment(x):
        return tf.cast(x, tf.float32) + tf.random.normal([3], seed=4)

    return tf.data.Dataset.range(20).map(augment).batch(4)


def _sorted_out(files):
    def work(x):
        return x, tf.linalg.matmul(tf.fill([4, 4], float(x)), tf.ones([4, 4]))

    kept = tf.data.Dataset.range(30).map(work).filter(lambda x, _: x % 3 == 0)
    return kept.shuffle(5, seed=1).batch(2)


def _shuffled_late(files):
    def work(x):
        return tf.fill([50], x * 2)

    return tf.data.Dataset.range(30).map(work).shuffle(7, seed=2).batch(4).prefetch(1)


def _shuffled_early(files):
    def work(x):
        return tf.fill([50], x * 2)

    data = tf.data.Dataset.range(30).shuffle(7, seed=2).map(work).map(tf.negative)
    return data.batch(4).map(lambda x: x + 1)


def _drawn_late(files):
    def work(x):
        made = tf.linalg.matmul(tf.fill([40, 40], float(x)), tf.ones([40, 40]))
        return made[0] + tf.random.normal([40], seed=4), x

    return tf.data.Dataset.range(30).shuffle(7, seed=2).map(work).batch(4)


def _named(files):
    def load(name):
        size = tf.strings.length(tf.io.read_file(name))
        return tf.random.uniform([], 0, 9, tf.int32, seed=4) * size, size

    names = tf.data.Dataset.list_files(str(files / "*"), seed=1)
    return names.map(load).batch(2).repeat(3)


def _wide(files):
    data = tf.data.Dataset.range(40).map(lambda x: x * 2, num_parallel_calls=2)
    return data.map(lambda x: x + 1, num_parallel_calls=2, deterministic=True).batch(4)


def _straggler(files):
    """Its first element is the last one to be ready."""

    def work(x):
        rounds = tf.where(x == 0, 20_000, 1)
        kept = tf.while_loop(lambda n: n < rounds, lambda n: (n + 1,), (0,))[0]
        return x + tf.cast(tf.minimum(kept, 0), tf.int64)

    return tf.data.Dataset.range(40).map(work, num_parallel_calls=2)


FILES = {
    one.__name__.strip("_"): one
    for one in (
        *(_records, _files, _turns, _drawn, _sorted_out),
        *(_shuffled_late, _shuffled_early, _drawn_late, _named, _wide, _straggler),
    )
}
MUST = {
    "records": {"interleave"},
    "files": {"interleave"},
    "turns": {"interleave", "prefetch"},
    "drawn": {"parallel-map"},
    "sorted_out": {"filter-first"},
    "shuffled_late": {"shuffle-ids", "cache"},
    "shuffled_early": {"cache-before-shuffle"},
    "drawn_late": {"cache-undrawn", "parallel-map"},
    "named": {"cache-undrawn"},
    "wide": {"unordered", "vectorize-map"},
    "straggler": {"unordered"},
}


@pytest.fixture
def files(tmp_path):
    for n in range(2):
        (tmp_path / f"{n}.txt").write_text(f"one {n}\ntwo {n}\nthree {n}\n", "utf-8")
        rows = f"a,b\n{n},x\n{n + 2},y\n{n + 4},z\n"
        (tmp_path / f"{n}.csv").write_text(rows, "utf-8")
        with tf.io.TFRecordWriter(str(tmp_path / f"{n}.tfrecord")) as writer:
            writer.write(f"first {n}")
            writer.write(f"second one {n}")
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_fixes_for_particular_pipelines(name, files):
    def cook():
        return FILES[name](files)

    assert MUST[name] <= one_by_one(cook)
    all_together(cook)


BY_PLACE = {
    "a seeded draw": lambda d: d.map(
        lambda x: x + tf.random.uniform([], 0, 99, tf.int64, seed=5)
    ),
    "take": lambda d: d.take(30),
    "enumerate": lambda d: d.enumerate(),
    "a remainder": lambda d: d.batch(3, drop_remainder=True),
    "a sum": lambda d: d.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s)),
}


def test_elements_that_are_only_reordered_stay_the_same_bag():
    """Where the other thread gets no processor, the straggler may be first for once."""
    overtaken = False
    for _ in range(100):
        data = tuned_dataset(_straggler(None), (Edit("unordered"),))
        numbers = list(data.as_numpy_iterator())
        assert sorted(numbers) == list(range(40))
        overtaken = numbers != sorted(numbers)
        if overtaken:
            break
    assert overtaken


@pytest.mark.parametrize("name", BY_PLACE)
def test_no_other_order_where_it_would_make_other_elements(name):
    dataset = BY_PLACE[name](_straggler(None))
    with pytest.raises(CannotFix, match="would make other elements"):
        tuned_dataset(dataset, (Edit("unordered"),))


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.id)
def test_every_operation(one, files):
    """Behind and before each operation of `tf.data`."""
    if one.op in ("snapshot", "load") or one.id == "cache in a file":
        return  # written to one place: cannot be cooked twice

    def cook():
        return one.make(files)

    all_together(cook)


@settings(settings.get_profile("tune"), max_examples=25, derandomize=True)
@given(recipes(), st.lists(st.integers(-1, 9), max_size=3), st.randoms())
def test_edits_that_nobody_proposed_are_refused_or_do_no_harm(recipe, stages, rng):
    """A plan's file may ask for anything exact, anywhere."""
    names = ("parallel-batch", "prefetch", "filter-first", "shuffle-ids")
    names += ("cache-before-shuffle",)
    edits = tuple(Edit(rng.choice(names), stage, {"maps": 2}) for stage in stages)

    def cook():
        return recipe.cook()[0]

    try:
        tuned = tuned_dataset(cook(), edits)
    except REFUSALS:
        return
    assert epochs(tuned) == epochs(cook())


# ----------------------------------------------------------------- the real thing


def slow(x):
    made = x
    for _ in range(25):
        made = tf.sin(tf.linalg.matmul(made, x) * 0.1 + x)
    return made


def heavy(n=48, seed=3):
    """Dear, and the same in every epoch: a cache is worth it on any machine."""
    pictures = np.random.default_rng(0).random((n, 40, 40), np.float32)
    data = tf.data.Dataset.from_tensor_slices(pictures).map(slow)
    return data.shuffle(n, seed=seed).batch(8)


def light(n=24, seed=3):
    """The same in kind, for where nothing need be dear."""
    pictures = np.random.default_rng(0).random((n, 40, 40), np.float32)
    data = tf.data.Dataset.from_tensor_slices(pictures).map(tf.sin)
    return data.shuffle(n, seed=seed).batch(8)


def believed(loop, before, after, clock, **_):
    """In place of timing: everything is twice as fast. What is applied is proved to
    be the same all the same, on a machine however busy."""
    yield from ()
    once, twice = Estimate(1.0, 1.0, 1.0), Estimate(2.0, 2.0, 2.0)
    return Faster(twice, once, twice)


def planted(examiner):
    """In place of measuring: every stage is dear."""
    yield from ()
    found = looked_at(examiner.loop.source)
    return found.job, found.measured


@pytest.fixture
def credulous(monkeypatch):
    monkeypatch.setattr("feedline.prove.faster.compare", believed)


@pytest.fixture
def untimed(credulous, monkeypatch):
    """Nothing is timed at all."""
    monkeypatch.setattr("feedline.measure.examine.Examiner.examine", planted)


@pytest.mark.usefixtures("untimed")
def test_a_dear_pipeline_is_altered_and_stays_the_same():
    data, twin = heavy(), heavy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned = feedline.tune(data, seconds=300)
    assert tuned is not data
    assert tuned.element_spec == data.element_spec
    assert int(tuned.cardinality()) == int(data.cardinality())
    expected = epochs(twin)
    assert expected[0] != expected[1]  # it is a shuffle indeed
    assert epochs(tuned) == expected
    assert feedline.tune(tuned, seconds=300) is tuned


@pytest.mark.slow
def test_a_dear_pipeline_is_made_faster():
    tuned = feedline.tune(heavy(), seconds=20)
    assert any(stage.op == "cache" for stage in read(tuned).stages())


# Whether anything is found, and whether there is time for it, does not matter.
@pytest.mark.filterwarnings("ignore:feedline.tune returns the dataset:UserWarning")
@pytest.mark.usefixtures("credulous")
def test_the_dataset_that_was_given_goes_on_as_without():
    data, twin = light(), light()
    assert epochs(data) == epochs(twin)
    feedline.tune(data, seconds=0.3)
    assert epochs(data) == epochs(twin)


def test_a_source_that_can_be_read_once_comes_back_with_a_warning():
    left = iter(range(5))
    data = tf.data.Dataset.from_generator(
        lambda: left, output_signature=tf.TensorSpec([], tf.int32)
    )
    with pytest.warns(UserWarning, match="returns the dataset unchanged"):
        assert feedline.tune(data, seconds=1) is data
    assert len(list(data)) == 5


def test_an_empty_or_failing_dataset_is_left_alone():
    empty = tf.data.Dataset.range(0).map(lambda x: x + 1)
    bad = tf.data.Dataset.range(3).map(
        lambda x: tf.debugging.check_numerics(1 / (x - 1), "bad")
    )
    for data in (empty, bad):
        with pytest.warns(UserWarning, match="returns the dataset unchanged"):
            assert feedline.tune(data, seconds=0.3) is data


@pytest.mark.parametrize("wrong", [None, [1, 2], "data"])
def test_what_is_no_dataset_is_an_error(wrong):
    with pytest.raises(FeedlineError, match=r"needs a tf\.data\.Dataset"):
        feedline.tune(wrong)


def test_wrong_arguments_are_errors():
    with pytest.raises(FeedlineError, match="cannot be allowed"):
        feedline.tune(tf.data.Dataset.range(3), allow=("fast",))
    model = keras.Sequential([keras.layers.Dense(1)])
    with pytest.raises(FeedlineError, match="needs a compiled Keras model"):
        feedline.tune(tf.data.Dataset.range(3), model)


def test_a_fault_of_ours_costs_the_tuning_not_the_dataset(monkeypatch):
    def broken(*args, **more):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("feedline.session.tuning.examine_and_cure", broken)
    data = tf.data.Dataset.range(3)
    with pytest.warns(UserWarning, match="ours"):
        assert feedline.tune(data) is data


# ------------------------------------------------------------------ with a model


def make_model():
    keras.utils.set_random_seed(5)
    model = keras.Sequential(
        [
            keras.Input((40, 40)),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.5),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(2),
        ]
    )
    model.compile("adam", "mse", metrics=["mae"])
    return model


def labelled(data=heavy):
    return data().map(lambda x: (x, tf.reduce_mean(x, 1)[:, :2]))


def states():
    return (
        random.getstate(),
        np.random.get_state()[1].tolist(),
        tf.random.uniform([2]).numpy().tolist(),
    )


def values(model):
    return [variable.numpy().tobytes() for variable in variables_of(model)]


@pytest.mark.usefixtures("untimed")
def test_a_model_is_as_it_was_and_trains_as_without():
    plain = make_model()
    expected = plain.fit(labelled(), epochs=3, verbose=0).history
    drawn = states()

    model, data = make_model(), labelled()
    metrics = [metric.name for metric in model.metrics]
    # Built by `Input`, but for the optimizer: its variables are there after `tune`.
    weights = [variable.numpy().tobytes() for variable in model.variables]
    tuned = feedline.tune(data, model=model, seconds=300)
    assert tuned is not data
    assert [v.numpy().tobytes() for v in model.variables][: len(weights)] == weights
    assert int(model.optimizer.iterations.numpy()) == 0
    assert [metric.name for metric in model.metrics] == metrics
    history = model.fit(tuned, epochs=3, verbose=0).history
    assert history == expected
    assert values(model) == values(plain)
    assert states() == drawn


@pytest.mark.filterwarnings("ignore:feedline.tune returns the dataset:UserWarning")
@pytest.mark.usefixtures("credulous")
def test_a_model_in_the_middle_of_its_training():
    plain, model = make_model(), make_model()
    one, two = labelled(light), labelled(light)
    plain.fit(one, epochs=1, verbose=0)
    model.fit(two, epochs=1, verbose=0)
    before = values(model)
    tuned = feedline.tune(two, model=model, seconds=0.3)
    assert values(model) == before
    del tuned
    assert model.fit(two, verbose=0).history == plain.fit(one, verbose=0).history
    assert values(model) == values(plain)


SCOPE = """
    import tensorflow as tf
    cpu = tf.config.list_physical_devices("CPU")[0]
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
    import keras, numpy as np
    import feedline
    keras.utils.set_random_seed(5)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    def data():
        x = np.random.default_rng(0).random((64, 8), np.float32)
        data = tf.data.Dataset.from_tensor_slices((x, x[:, :1]))
        return data.map(lambda x, y: (tf.sin(x), y)).shuffle(64, seed=3).batch(8)
    def listed(data):
        return [[y.numpy().tolist() for _, y in data] for _ in range(2)]
    def model():
        keras.utils.set_random_seed(5)
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        return model
    with strategy.scope():
        alone = feedline.tune(data(), seconds=1)
        assert listed(alone) == listed(data())
        trained = model()
        tuned = feedline.tune(data(), model=trained, seconds=2)
        assert feedline.tune(tuned, model=trained) is tuned
        plain = model()
    one = trained.fit(tuned, epochs=2, verbose=0).history
    two = plain.fit(data(), epochs=2, verbose=0).history
    assert one == two, (one, two)
    print("done")
"""


@pytest.mark.slow
def test_inside_the_scope_of_a_strategy():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCOPE)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT,
    )
    assert done.stdout == "done\n", done.stderr


# -------------------------------------------------------------------- slow tier


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(settings.get_profile("tune"), max_examples=60)
@given(recipes())
def test_tuning_any_pipeline_believing_that_all_is_faster(recipe):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("feedline.prove.faster.compare", believed)
        tune_and_compare(recipe)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(settings.get_profile("tune"), max_examples=300)
@given(recipes())
def test_tuning_any_pipeline_keeps_the_elements(recipe):
    tune_and_compare(recipe)


def tune_and_compare(recipe):
    dataset = recipe.cook()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tuned = feedline.tune(dataset, seconds=0.4)
        assert feedline.tune(tuned, seconds=0.4) is tuned
    assert tuned.element_spec == dataset.element_spec
    assert int(tuned.cardinality()) == int(dataset.cardinality())
    expected = epochs(recipe.cook()[0])
    if tuned is not dataset:
        # Its shuffles are its own until somebody reads the tuned one.
        assert rebuild(read(dataset)) is dataset
    assert epochs(tuned) == expected


@pytest.mark.slow
@settings(settings.get_profile("tune"), max_examples=400)
@given(recipes())
def test_every_edit_of_many_more_pipelines(recipe):
    def cook():
        return recipe.cook()[0]

    one_by_one(cook)
    all_together(cook)
