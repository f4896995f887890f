"""The method against fake jobs whose truth is planted."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.job.loops.loop import CannotRun, LoopEnded, Ran, Run, drive
from feedline.measure.measurement import StepTimes
from feedline.measure.step import intercept, measure_curve, measure_step
from tests.clock import FakeClock


@dataclass
class FakeJob:
    """A job on a machine that is never the same twice: every request is up to
    `noise` slower than the truth."""

    clock: FakeClock
    input_ms: float
    transfer_ms: float
    overhead_ms: float
    compute_ms: float
    batch: int = 32
    noise: float = 0.02
    start_s: float = 0.0
    ends_after: int = 10**9
    random: random.Random = field(default_factory=lambda: random.Random(0))

    def execute(self, run: Run) -> Ran:
        self.ends_after -= 1
        if self.ends_after < 0:
            raise LoopEnded("over")
        size = run.batch or self.batch
        ceiling = self.overhead_ms + self.compute_ms * size / self.batch
        each = {
            "live": self.input_ms + self.transfer_ms + ceiling,
            "host": self.transfer_ms + ceiling,
            "device": ceiling,
            "pull": self.input_ms,
            "epoch": 1e3 * self.start_s + self.input_ms,
        }[run.feed]
        seconds = each * run.steps / 1e3
        seconds *= 1 + self.noise * self.random.random()
        self.clock.work(seconds)
        return Ran(seconds, run.steps, cpu_seconds=seconds)


def take_apart(job: FakeJob, *, accelerated: bool = True) -> StepTimes:
    step = drive(
        measure_step(
            job.clock,
            seconds=60,
            accelerated=accelerated,
            batch_size=job.batch,
            steps_per_epoch=100 if job.start_s else None,
        ),
        job.execute,
    )
    curve = drive(
        measure_curve([8, 16, 32], clock=job.clock, seconds=10, feed="device"),
        job.execute,
    )
    return replace(step, overhead=intercept(curve), curve=curve)


@pytest.mark.parametrize(
    ("input_ms", "transfer_ms", "overhead_ms", "compute_ms", "bound"),
    [
        (80.0, 2.0, 3.0, 5.0, "input"),
        (2.0, 30.0, 3.0, 5.0, "transfer"),
        (1.0, 0.5, 20.0, 4.0, "overhead"),
        (1.0, 0.5, 2.0, 60.0, "compute"),
    ],
)
def test_planted_shares_come_back(
    input_ms: float,
    transfer_ms: float,
    overhead_ms: float,
    compute_ms: float,
    bound: str,
) -> None:
    job = FakeJob(FakeClock(), input_ms, transfer_ms, overhead_ms, compute_ms)
    step = take_apart(job)
    total = input_ms + transfer_ms + overhead_ms + compute_ms
    shares = step.shares()
    assert step.bound == bound
    assert shares["input"] == pytest.approx(input_ms / total, abs=0.05)
    assert shares["transfer"] == pytest.approx(transfer_ms / total, abs=0.05)
    assert shares["overhead"] == pytest.approx(overhead_ms / total, abs=0.06)
    assert shares["compute"] == pytest.approx(compute_ms / total, abs=0.08)


@given(
    input_ms=st.floats(0, 100),
    transfer_ms=st.floats(0, 100),
    overhead_ms=st.floats(0, 100),
    compute_ms=st.floats(0.1, 100),
    noise=st.floats(0, 0.5),
)
@settings(max_examples=60, deadline=None)
def test_shares_are_never_negative_and_sum_to_one(
    input_ms: float,
    transfer_ms: float,
    overhead_ms: float,
    compute_ms: float,
    noise: float,
) -> None:
    job = FakeJob(
        FakeClock(), input_ms, transfer_ms, overhead_ms, compute_ms, noise=noise
    )
    shares = take_apart(job).shares()
    assert all(share >= 0 for share in shares.values())
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-9)


def test_no_measurable_wait_is_no_wait() -> None:
    job = FakeJob(FakeClock(), 0.0, 0.0, 2.0, 20.0, noise=0.1)
    step = take_apart(job, accelerated=False)
    assert step.shares()["input"] == 0.0
    assert step.ceiling == step.observed


def test_the_start_of_an_epoch_is_shared_out_over_its_steps() -> None:
    job = FakeJob(FakeClock(), 5.0, 0.0, 2.0, 20.0, start_s=2.0)
    step = take_apart(job, accelerated=False)
    assert step.epoch_start == pytest.approx(20.0, rel=0.1)
    assert step.shares()["input"] == pytest.approx(25 / 47, abs=0.05)


def test_it_keeps_to_its_seconds() -> None:
    job = FakeJob(FakeClock(), 100.0, 0.0, 100.0, 1000.0, noise=0.5)
    drive(
        measure_step(job.clock, seconds=20, accelerated=False, batch_size=32),
        job.execute,
    )
    assert job.clock.now() < 45


def test_a_loop_that_ends_early_gives_what_was_measured() -> None:
    job = FakeJob(FakeClock(), 50.0, 0.0, 2.0, 20.0, ends_after=8)
    step = drive(
        measure_step(job.clock, seconds=20, accelerated=False, batch_size=32),
        job.execute,
    )
    assert step.shares()["input"] == pytest.approx(50 / 72, abs=0.05)


def test_a_loop_that_ends_at_once_cannot_be_measured() -> None:
    job = FakeJob(FakeClock(), 50.0, 0.0, 2.0, 20.0, ends_after=1)
    with pytest.raises(LoopEnded):
        drive(
            measure_step(job.clock, seconds=20, accelerated=False, batch_size=32),
            job.execute,
        )


def test_a_device_that_cannot_be_fed_leaves_transfer_at_zero() -> None:
    job = FakeJob(FakeClock(), 5.0, 10.0, 2.0, 20.0)

    def execute(run: Run) -> Ran:
        if run.feed == "device":
            raise CannotRun("no")
        return job.execute(run)

    step = drive(
        measure_step(job.clock, seconds=20, accelerated=True, batch_size=32), execute
    )
    assert step.shares()["transfer"] == 0.0


def test_the_line_through_batch_sizes_meets_zero_at_the_overhead() -> None:
    assert intercept([(8, 4.0), (16, 6.0), (32, 10.0)]) == pytest.approx(2.0)
    assert intercept([(8, 4.0)]) is None
    assert intercept([(8, 5.0), (16, 4.9)]) == pytest.approx(4.9)
