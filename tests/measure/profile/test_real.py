"""Captures that TensorFlow itself writes, here, on the CPU, with a planted truth."""

from __future__ import annotations

import time

import numpy as np
import pytest

from feedline.measure.profile import source
from feedline.measure.profile.examine import examine
from feedline.session.captured import report_of

pytestmark = pytest.mark.tensorflow

STEPS = 6


def measured(test):
    """What takes longest here is what does on a machine that does nothing else."""
    return pytest.mark.slow(test)


@pytest.fixture(scope="module")
def tf():
    return pytest.importorskip("tensorflow")


@pytest.fixture(scope="module")
def step(tf):
    weights = tf.Variable(tf.ones([200, 200]))

    @tf.function
    def step(batch):
        weights.assign(tf.linalg.matmul(weights, batch) / 200.0)
        return weights[0, 0]

    step(tf.ones([200, 200]))
    return step


@pytest.fixture(scope="module")
def profiled(tf, tmp_path_factory):
    def profile(body) -> object:
        folder = tmp_path_factory.mktemp("logs")
        tf.profiler.experimental.start(str(folder))
        body()
        tf.profiler.experimental.stop()
        (file,) = source.find(folder)
        return file

    return profile


@pytest.fixture(scope="module")
def fed_by_python(tf, step, profiled):
    def slow():
        for _ in range(STEPS):
            time.sleep(0.1)
            yield np.ones([200, 200], "float32")

    spec = tf.TensorSpec([200, 200], tf.float32)
    data = tf.data.Dataset.from_generator(slow, output_signature=spec)

    def train():
        for batch in data:
            step(batch)

    return report_of(profiled(train))


def test_a_generator(fed_by_python):
    assert fed_by_python.trace.boundaries == "calls of step"
    assert fed_by_python.stages[0].name == "from_generator"
    assert sum(fed_by_python.shares.values()) == pytest.approx(1)


@measured
def test_a_slow_generator(fed_by_python):
    assert fed_by_python.bound == "input"
    assert fed_by_python.shares["input"] > 0.5
    assert fed_by_python.trace.unknown < 0.3  # a busy machine has gaps of its own
    assert fed_by_python.findings[0].cause == "python-in-pipeline"


@pytest.fixture(scope="module")
def marked(tf, step, profiled):
    batch = tf.ones([200, 200])

    def train():
        for number in range(STEPS):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                step(batch)
            time.sleep(0.1)

    return profiled(train)


def test_marked_steps(marked):
    capture = examine(source.load(marked), "")
    assert len(capture.step_ms) == STEPS - 1
    assert capture.boundaries == "marked by the job"


@measured
def test_marked_steps_with_python_in_between(marked):
    capture = examine(source.load(marked), "")
    assert capture.share("python") > 0.5
    assert report_of(marked).findings[0].cause == "host-sync"


@measured
def test_tracing_again_and_again(tf, profiled):
    @tf.function
    def grow(batch):
        for _ in range(40):
            batch = tf.tanh(batch)
        return batch

    def train():
        for number in range(STEPS):
            grow(tf.ones([number + 1]))

    report = report_of(profiled(train))
    assert report.bound == "overhead"
    assert "retracing" in [finding.cause for finding in report.findings]


def test_our_reader_agrees_with_tensorflows(tf, step, profiled):
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    file = profiled(lambda: [step(tf.ones([200, 200])) for _ in range(3)])
    theirs = xplane_pb2.XSpace()
    theirs.ParseFromString(file.read_bytes())
    ours = source.load(file)
    assert [plane.name for plane in ours.planes] == [p.name for p in theirs.planes]
    for plane, other in zip(ours.planes, theirs.planes, strict=True):
        names = {key: value.name for key, value in other.event_metadata.items()}
        assert dict(plane.names) == names
        for line, its in zip(plane.lines, other.lines, strict=True):
            assert len(line) == len(its.events)
            events = sorted(its.events, key=lambda event: event.offset_ps)
            assert line.name_of.tolist() == [event.metadata_id for event in events]
            lasted = [event.duration_ps // 1000 for event in events]
            assert (line.end - line.start).tolist() == lasted
