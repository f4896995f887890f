"""Faster means that the whole interval says so. Times are planted, the clock fake."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from feedline.job.loops.loop import LoopEnded, Ran, drive
from feedline.measure.measurement import Estimate
from feedline.prove.faster import compare
from feedline.prove.proof import Faster
from tests.clock import FakeClock

BEFORE, AFTER = object(), object()


class Planted:
    """A loop whose steps take what they are told to; `starts` is what the start
    of an epoch takes. Notes whose turn it was."""

    def __init__(self, before, after, *, starts=None, steps_per_epoch=100):
        self.clock = FakeClock()
        self.ms = {
            variant: itertools.cycle(ms if isinstance(ms, list) else [ms])
            for variant, ms in ((BEFORE, before), (AFTER, after))
        }
        self.starts = starts or {}
        self.restarts, self.steps_per_epoch = True, steps_per_epoch
        self.turns: list[str] = []
        self.used: list[object] = []
        self.live = None

    def use(self, variant):
        self.used.append(variant)
        starts = self.starts.get(variant)
        self.live = SimpleNamespace(starts=[starts] if starts else [])

    def execute(self, run):
        variant = self.used[-1]
        self.turns.append("before" if variant is BEFORE else "after")
        ms = next(self.ms[variant])
        steps = max(2, min(run.steps, int(run.seconds / (ms / 1e3)) or 2))
        seconds = steps * ms / 1e3
        self.clock.work(seconds)
        return Ran(seconds, steps)


def measured(loop, seconds=10.0):
    experiment = compare(loop, BEFORE, AFTER, loop.clock, seconds=seconds)
    return drive(experiment, loop.execute)


@pytest.mark.parametrize(("before", "after"), [(20.0, 10.0), (10.0, 20.0), (7.0, 7.0)])
def test_steady_times_give_their_ratio(before, after):
    loop = Planted(before, after)
    found = measured(loop)
    assert found.gain.value == pytest.approx(before / after)
    assert found.before.value == pytest.approx(before)
    assert found.after.value == pytest.approx(after)
    assert found.proved == (before > after)


def test_turns_alternate_and_the_order_changes():
    loop = Planted(20.0, [10.0, 14.0])
    measured(loop)
    rounds = loop.turns[2:]  # two pilots first
    pairs = list(zip(rounds[::2], rounds[1::2], strict=True))
    assert all(set(pair) == {"before", "after"} for pair in pairs)
    assert {pair[0] for pair in pairs} == {"before", "after"}


def test_the_loop_has_its_own_back_afterwards():
    loop = Planted(20.0, 10.0)
    measured(loop)
    assert loop.used[-1] is None


def test_noise_around_one_is_not_faster():
    loop = Planted([10.0, 12.0, 9.0], [11.0, 9.0, 12.0, 10.0])
    assert not measured(loop).proved


def test_a_small_gain_in_little_noise_is_found():
    loop = Planted([10.0, 10.1, 9.9], [9.0, 9.1, 8.9, 9.05])
    found = measured(loop)
    assert found.proved
    assert found.gain.value == pytest.approx(1.11, rel=0.03)


def test_what_disturbs_the_machine_disturbs_both():
    """Slower and slower: the ratio of each turn is still right."""
    drift = [2.0 * 1.05**n for n in range(40)]
    loop = Planted([10 * d for d in drift], [5 * d for d in drift])
    assert measured(loop).gain.value == pytest.approx(2.0, rel=0.1)


def test_a_clear_answer_ends_early_a_vague_one_with_the_time():
    clear, vague = Planted(20.0, 10.0), Planted([10.0, 20.0, 15.0], [12.0, 18.0, 9.0])
    measured(clear, seconds=100.0)
    measured(vague, seconds=3.0)
    assert clear.clock.now() < 6.0
    assert 3.0 <= vague.clock.now() < 8.0


def test_never_fewer_than_three_turns():
    loop = Planted(300.0, 200.0)
    assert measured(loop, seconds=0.0).gain.rounds >= 3


def test_the_start_of_an_epoch_is_shared_out_over_its_steps():
    loop = Planted(10.0, 10.0, starts={BEFORE: 2.0}, steps_per_epoch=100)
    found = measured(loop)
    assert found.before.value == pytest.approx(30.0)
    assert found.gain.value == pytest.approx(3.0)
    endless = Planted(10.0, 10.0, starts={BEFORE: 2.0})
    endless.restarts = False
    assert measured(endless).gain.value == pytest.approx(1.0)


def test_a_loop_that_ends_says_so():
    def ended(run):
        raise LoopEnded("over")

    loop = Planted(1.0, 1.0)
    with pytest.raises(LoopEnded):
        drive(compare(loop, BEFORE, AFTER, loop.clock, seconds=1.0), ended)


@pytest.mark.parametrize(
    ("low", "proved"), [(0.9, False), (1.0, False), (1.004, False), (1.02, True)]
)
def test_the_low_end_of_the_interval_decides(low, proved):
    one = Estimate(1.0, 1.0, 1.0)
    assert Faster(one, one, Estimate(1.5, low, 2.0)).proved is proved
