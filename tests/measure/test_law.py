"""The law of stage costs: no stage and no sum of them beyond what was observed."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.files.cores import cores
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.measure.clock import SystemClock
from feedline.measure.law import NOISE, excesses, lawful, within
from feedline.measure.measurement import StageCost
from feedline.measure.stages import watch_stages

tf = pytest.importorskip("tensorflow")

MS = st.floats(0.0, 200.0)


@st.composite
def measured(draw):
    """A pipeline of chains and zips, with costs as any clock might give them."""
    heads = [Stage("range") for _ in range(draw(st.integers(1, 3)))]
    for _ in range(draw(st.integers(0, 7))):
        at = draw(st.integers(0, len(heads) - 1))
        heads[at] = Stage("map", (heads[at],))
    pipeline = Pipeline(heads[0] if len(heads) == 1 else Stage("zip", tuple(heads)))
    costs = []
    for index, stage in enumerate(pipeline.stages()):
        ms, elements = draw(MS), draw(st.floats(0.5, 64.0))
        costs.append(
            StageCost(
                index,
                f"{stage.op} {index}",
                ms_per_element=ms / elements,
                ms_per_batch=ms,
                elements_per_batch=elements,
                busy=draw(st.floats(0.0, 1.0)),
                parallelism=draw(st.integers(1, 16)),
                asynchronous=draw(st.booleans()),
            )
        )
        if draw(st.booleans()):
            ahead = StageCost(-1, "prefetch", asynchronous=True, injected=True)
            costs.append(ahead)
    return pipeline, tuple(costs)


@settings(max_examples=300, deadline=None)
@given(measured(), st.floats(0.01, 100.0), st.integers(1, 16))
def test_whatever_was_measured_what_is_told_keeps_the_law(job, alone, cores):
    pipeline, costs = job
    told, reasons = lawful(pipeline, costs, alone, cores)
    assert excesses(pipeline, told, alone, cores) == []
    assert sum(cost.ms_per_batch * cost.busy for cost in told) <= alone * cores * 1.0001
    for cost in told:
        threads = cost.parallelism if cost.asynchronous else 1
        assert 0 <= cost.ms_per_batch <= alone * threads * 1.0001
        each = cost.ms_per_element * cost.elements_per_batch
        assert each == pytest.approx(cost.ms_per_batch, abs=1e-9)
    assert len(told) + len(reasons) == len(costs)
    left_out = {cost.name for cost in costs} - {cost.name for cost in told}
    assert all(any(name in reason for reason in reasons) for name in left_out)
    assert lawful(pipeline, told, alone, cores)[1] == ()
    guessed = within(pipeline, costs, alone, cores)
    assert len(guessed) == len(costs)
    assert excesses(pipeline, guessed, alone, cores) == []


@settings(max_examples=200, deadline=None)
@given(measured(), st.floats(0.01, 100.0), st.integers(1, 16))
def test_what_keeps_the_law_is_told_as_it_was_measured(job, alone, cores):
    pipeline, costs = job
    over = excesses(pipeline, costs, alone, cores)
    told, reasons = lawful(pipeline, costs, alone, cores)
    if not over:
        assert [c.ms_per_batch for c in told] == [c.ms_per_batch for c in costs]
    if not any(each.beyond_noise for each in over):
        assert reasons == ()
        for before, after in zip(costs, told, strict=True):
            least = before.ms_per_batch / NOISE**3
            assert least * 0.999 <= after.ms_per_batch <= before.ms_per_batch


def test_a_thread_takes_no_longer_than_the_input_that_it_feeds() -> None:
    source = Stage("range")
    pipeline = Pipeline(Stage("batch", (Stage("map", (source,)),)))
    costs = [
        StageCost(0, "range", ms_per_batch=1.0),
        StageCost(1, "map", ms_per_batch=56.0),
        StageCost(2, "batch", ms_per_batch=1.0),
    ]
    told, (reason,) = lawful(pipeline, costs, 21.0, 2)
    assert [cost.name for cost in told] == ["range", "batch"]
    assert "what map costs: it was timed at 56 ms a step" in reason


def test_what_a_cache_saves_is_no_part_of_the_input_that_was_observed() -> None:
    cached = Stage("cache", (Stage("map", (Stage("range"),)),))
    costs = [
        StageCost(1, "map", ms_per_batch=500.0),
        StageCost(2, "cache", ms_per_batch=1.0),
    ]
    told, reasons = lawful(Pipeline(cached), costs, 2.0, 2)
    assert reasons == ()
    assert [cost.ms_per_batch for cost in told] == [500.0, 1.0]


def test_kernels_on_several_cores_use_more_cpu_than_their_thread_has_time() -> None:
    pipeline = Pipeline(Stage("map", (Stage("range"),)))
    costs = [
        StageCost(0, "range", ms_per_batch=0.0),
        StageCost(1, "map", ms_per_batch=18.0),
    ]
    told, reasons = lawful(pipeline, costs, 10.0, 2)
    assert reasons == ()
    assert told[1].ms_per_batch == pytest.approx(10.0)
    assert told[1].ms_per_batch * told[1].busy == pytest.approx(18.0)


def pictures():
    """PNG pictures, decoded behind an interleave."""
    picture = tf.io.encode_png(
        tf.cast(tf.random.uniform((128, 128, 3), maxval=255, dtype=tf.int32), tf.uint8)
    )
    files = tf.data.Dataset.range(8)
    read = files.interleave(
        lambda _: tf.data.Dataset.from_tensors(picture).repeat(50), cycle_length=8
    )
    return read.map(tf.io.decode_png).batch(16)


def windows():
    rows = np.random.default_rng(0).normal(size=(4000, 19)).astype("float32")
    made = keras.utils.timeseries_dataset_from_array(rows, None, 48, batch_size=32)
    return made.map(lambda window: (window[:, :24], window[:, 24:]))


def small_batches():
    return tf.data.Dataset.range(4000).map(lambda x: x + 1).enumerate().batch(2)


def refilled():
    lines = tf.data.Dataset.from_tensor_slices(["one two three four"] * 2000)
    return lines.map(tf.strings.split).shuffle(1000).padded_batch(32)


@pytest.mark.tensorflow
@pytest.mark.parametrize("made", [pictures, windows, small_batches, refilled])
@pytest.mark.parametrize("seconds", [0.3])
def test_real_pipelines_keep_the_law(made, seconds) -> None:
    """However short the time and however busy the machine."""
    from feedline.job.tfdata.read import read

    pipeline, clock = read(made()), SystemClock()
    alone = _alone(made(), clock)
    watched = watch_stages(pipeline, clock, seconds, alone)
    allowed = max(alone, watched.alone)
    assert excesses(pipeline, watched.stages, allowed, cores()) == []
    own = [cost for cost in watched.stages if cost.index >= 0]
    assert len(own) + len(watched.unknown) == len(list(pipeline.stages()))


@pytest.mark.slow
@pytest.mark.tensorflow
def test_decoding_is_charged_and_not_the_interleave_before_it() -> None:
    from feedline.job.tfdata.read import read

    clock = SystemClock()
    alone = _alone(pictures(), clock)
    for seconds in (0.5, 1.0, 2.0):
        watched = watch_stages(read(pictures()), clock, seconds, alone)
        by_name = {cost.name: cost.ms_per_batch for cost in watched.stages}
        decoding = next(ms for name, ms in by_name.items() if "decode" in name)
        assert decoding > 5 * by_name["interleave(lambda)"]


def _alone(dataset, clock) -> float:
    batches = iter(dataset.repeat())
    next(batches)
    begin = clock.now()
    for _ in range(20):
        next(batches)
    return 1e3 * (clock.now() - begin) / 20
