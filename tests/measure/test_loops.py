"""Loops answer requests with the time that the steps took, and nothing else.

The clock is turned by hand: a batch takes `PULL`, a step `STEP`, starting an epoch
`START` seconds.
"""

from __future__ import annotations

import itertools

import pytest
import tensorflow as tf

from feedline.job.loops.call import CallLoop
from feedline.job.loops.feeds import Live, Ring, batch_size, resize
from feedline.job.loops.function import FunctionLoop
from feedline.job.loops.loop import CannotRun, InputFailed, LoopEnded, Ran, Run, drive
from feedline.job.loops.python import PythonLoop
from tests.clock import FakeClock

pytestmark = pytest.mark.tensorflow

PULL, STEP, START = 0.03, 0.01, 0.5


class Input:
    """A dataset whose batches and epochs take their time."""

    element_spec = tf.TensorSpec((4, 2), tf.float32)

    def __init__(self, clock: FakeClock, batches: int = 10**9) -> None:
        self.clock = clock
        self.batches = batches
        self.epochs = 0

    def __iter__(self):
        self.epochs += 1
        self.clock.sleep(START)
        for _ in range(self.batches):
            self.clock.work(PULL)
            yield tf.ones((4, 2))


@pytest.fixture
def clock():
    return FakeClock()


def ask(*runs: Run, into: list):
    """An experiment that asks for these, one after the other."""
    for run in runs:
        try:
            into.append((yield run))
        except (CannotRun, LoopEnded) as refusal:
            into.append(refusal)
    return "done"


def python_loop(clock: FakeClock, batches: int = 10**9) -> PythonLoop:
    loop = PythonLoop(None, clock)
    data = Input(clock, batches)
    loop.reads(data, iter(data))
    loop.live.pull()  # the job has been training
    return loop


def go_round(loop: PythonLoop, clock: FakeClock, most: int = 10**5) -> int:
    """The user's loop: asks for a batch, trains on it. Returns its steps."""
    for steps in range(most):
        try:
            loop.next_batch()
        except LoopEnded:
            return steps
        clock.work(STEP)
    raise AssertionError("the loop does not end")


@pytest.mark.parametrize(
    ("run", "each"),
    [
        (Run("live", 7), PULL + STEP),
        (Run("host", 7), STEP),
        (Run("pull", 7), PULL),
    ],
    ids=["live", "host", "pull"],
)
def test_a_python_loop(clock, run, each):
    loop, answers, ended = python_loop(clock), [], []
    loop.start(ask(run, run, into=answers), finish=ended.append)
    go_round(loop, clock)
    assert ended == ["done"]
    for answer in answers:
        assert answer.steps == 7
        assert answer.seconds == pytest.approx(7 * each)
        assert answer.cpu_seconds == pytest.approx(7 * each)


def test_a_python_loop_over_several_epochs(clock):
    """Starting an epoch is no part of a step; it can be asked for by itself."""
    loop, answers = python_loop(clock, batches=3), []
    runs = Run("live", 12, seconds=60), Run("epoch"), Run("pull", 9, seconds=60)
    loop.start(ask(*runs, into=answers), finish=lambda _: None)
    go_round(loop, clock)
    live, epoch, pull = answers
    # The first batch of an epoch is part of its start.
    assert 12 * STEP < live.seconds < 12 * (PULL + STEP) + 0.001
    assert epoch.seconds == pytest.approx(START + PULL)
    assert pull.seconds < 9 * PULL + 0.001


def test_a_python_loop_that_may_not_be_read_again(clock):
    loop, answers = python_loop(clock, batches=20), []
    loop.live.renewals = 0
    runs = Run("live", 5), Run("live", 50), Run("host", 5)
    loop.start(ask(*runs, into=answers), finish=lambda _: None)
    go_round(loop, clock)
    assert isinstance(answers[0], Ran)
    assert isinstance(answers[1], LoopEnded)
    assert isinstance(answers[2], LoopEnded)  # no batches left for a ring
    assert loop.dataset.epochs == 1


def test_a_script_that_ends_while_it_is_measured(clock):
    loop, answers, ended = python_loop(clock), [], []
    loop.start(ask(Run("live", 50), Run("pull", 2), into=answers), ended.append)
    for _ in range(3):
        loop.next_batch()
    assert loop.measuring
    loop.close()
    assert not loop.measuring
    assert ended == ["done"]
    assert isinstance(answers[0], LoopEnded)


def test_whose_batch_the_step_works_on(clock):
    loop = python_loop(clock)
    assert not loop.fed_by_us
    loop.start(ask(Run("live", 2), Run("host", 2), into=[]), lambda _: None)
    seen = []
    for _ in range(7):
        try:
            loop.next_batch()
        except LoopEnded:
            break
        seen.append(loop.fed_by_us)
    assert seen == [False] * 3 + [True] * 3  # one before each, to settle in


def test_an_input_that_fails_is_not_our_failure(clock):
    def broken():
        yield tf.ones((4, 2))
        raise ZeroDivisionError("the user's own")

    loop = PythonLoop(None, clock)
    loop.reads(None, broken())
    loop.start(ask(Run("live", 9), into=[]), lambda _: None)
    with pytest.raises(InputFailed) as failure:
        go_round(loop, clock)
    assert isinstance(failure.value.error, ZeroDivisionError)


def call_loop(clock: FakeClock, batches: int = 10**9, per_call: int = 1) -> CallLoop:
    """A step that takes its batch from the iterator it is given."""

    def call(iterator) -> None:
        for _ in range(per_call):
            next(iterator)
            clock.work(STEP)

    loop = CallLoop("iterator", None, clock, call)
    loop.steps_per_call = per_call
    data = Input(clock, batches)
    loop.reads(data, iter(data))
    return loop


def execute(loop, *runs: Run) -> list:
    answers: list = []
    drive(ask(*runs, into=answers), loop.execute)
    return answers


@pytest.mark.parametrize("per_call", [1, 4])
def test_a_step_that_we_call(clock, per_call):
    loop = call_loop(clock, per_call=per_call)
    live, pull = execute(loop, Run("live", 8), Run("pull", 8))
    assert (live.steps, pull.steps) == (8, 8)
    assert live.ms == pytest.approx(1e3 * (PULL + STEP))
    assert pull.ms == pytest.approx(1e3 * PULL)


def test_more_steps_than_asked_for_are_counted(clock):
    (ran,) = execute(call_loop(clock, per_call=5), Run("live", 8))
    assert ran.steps == 10
    assert ran.ms == pytest.approx(1e3 * (PULL + STEP))


def test_a_step_that_we_call_over_several_epochs(clock):
    loop = call_loop(clock, batches=3)
    (ran,) = execute(loop, Run("live", 10, seconds=60))
    assert 10 * STEP < ran.seconds < 10 * (PULL + STEP) + 0.001
    assert loop.dataset.epochs > 2


def test_a_step_that_we_feed(clock):
    """The live iterator must be TensorFlow's own: the ring looks like it."""
    loop = call_loop(clock)
    data = tf.data.Dataset.from_tensors(tf.ones((4, 2))).repeat()
    loop.reads(data, iter(data))
    assert execute(loop, Run("host", 5))[0].ms == pytest.approx(1e3 * STEP)
    assert loop.batch_size() == 4
    half = execute(loop, Run("host", 5, batch=2))[0]
    assert half.ms == pytest.approx(1e3 * STEP)


def test_a_step_that_does_not_take_what_we_feed_it(clock):
    loop = call_loop(clock)
    data = tf.data.Dataset.from_tensors(tf.ones((4, 2))).repeat()
    loop.reads(data, iter(data))

    def picky(iterator) -> None:
        if next(iterator).shape[0] != 4:
            raise ValueError("four, and four only")

    loop.call = picky
    fed, refused = execute(loop, Run("host", 5), Run("host", 5, batch=2))
    assert isinstance(fed, Ran)
    assert isinstance(refused, CannotRun)
    assert "four, and four only" in str(refused)


def test_a_step_that_fails_on_its_own_input_fails_the_script(clock):
    loop = call_loop(clock)

    def broken(_) -> None:
        raise ValueError("the user's own")

    loop.call = broken
    with pytest.raises(ValueError, match="the user's own"):
        execute(loop, Run("live", 5))


@pytest.mark.parametrize("length", [50, -1, -2])
def test_a_loop_inside_a_function(clock, length):
    """What starting the pipeline takes is taken off."""

    class Source(Input):
        def cardinality(self) -> int:
            return length

        def take(self, count: int):
            return itertools.islice(self, count)

        def repeat(self):
            return Source(self.clock)

    def call(part) -> None:
        for _ in part:
            clock.work(STEP)

    loop = FunctionLoop(None, clock)
    loop.call = call
    loop.reads(Source(clock, batches=50), iter(()))
    (ran,) = execute(loop, Run("live", 120))
    assert ran.steps == 120
    assert ran.ms == pytest.approx(1e3 * (PULL + STEP))
    length = 2
    assert isinstance(execute(loop, Run("live", 5))[0], CannotRun)
    assert isinstance(execute(loop, Run("device", 5))[0], CannotRun)


def generated(generator):
    return tf.data.Dataset.from_generator(generator, output_signature=tf.TensorSpec(()))


@pytest.mark.parametrize(
    ("source", "options", "renewals"),
    [
        ("range", {}, float("inf")),
        ("range", {"once": True}, 0),
        ("generator", {}, 0),
        ("generator", {"epochs": 4}, 3),
        ("generator", {"epochs": 4, "passes": 4}, 0),
        ("numbers", {}, float("inf")),
    ],
)
def test_a_source_is_read_as_often_as_the_job_would(clock, source, options, renewals):
    left = iter(range(3))
    dataset = {
        "range": lambda: tf.data.Dataset.range(3),
        "generator": lambda: generated(lambda: left),
        "numbers": lambda: generated(lambda: range(3)),
    }[source]()
    loop = PythonLoop(None, clock)
    loop.reads(dataset, iter(dataset))
    for name, value in options.items():
        setattr(loop, name, value)
    loop.keep_to_its_passes()
    assert loop.live.renewals == renewals


def test_a_ring_leaves_out_the_small_batch_at_the_end():
    data = tf.data.Dataset.range(10).batch(4).repeat()
    ring = Ring.filled_from(iter(data).__next__, 5)
    assert [batch_size(batch) for batch in ring.batches] == [4] * 5
    data = (
        tf.data.Dataset.range(2)
        .batch(2)
        .concatenate(tf.data.Dataset.range(100).batch(4))
    )
    ring = Ring.filled_from(iter(data).__next__, 5)
    assert [batch_size(batch) for batch in ring.batches] == [4] * 5


def test_a_ring_goes_round_as_a_dataset():
    batches = [tf.fill((2, 3), n) for n in range(3)]
    spec = tf.TensorSpec((None, 3), tf.int32)
    data = Ring(batches).dataset(spec)
    assert data.element_spec == spec
    seen = [int(batch[0, 0]) for batch in itertools.islice(data, 7)]
    assert seen == [0, 1, 2, 0, 1, 2, 0]


def test_batches_of_another_size():
    batch = {"x": tf.reshape(tf.range(6), (3, 2)), "scale": tf.constant(2.0)}
    assert resize(batch, 2)["x"].numpy().tolist() == [[0, 1], [2, 3]]
    assert resize(batch, 5)["x"].shape == (5, 2)
    assert resize(batch, 5)["scale"].shape == ()
    with pytest.raises(CannotRun):
        resize(tf.constant(1.0), 4)


def test_what_was_prepared_ahead_is_taken_away(clock):
    """Ready batches come at once; draining ends when one has to be waited for."""

    def ahead():
        for n in range(100):
            clock.work(0.0001 if n < 10 else PULL)
            yield n

    live = Live(None, ahead(), clock)
    live.drain()
    assert next(live.iterator) == 11
