"""What a validation costs, by planted clocks and steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline.job.script.validated import validated
from feedline.measure.measurement import Estimate, StepTimes, ValidationTimes
from feedline.measure.validation import Pass, by_experiment, in_passing
from feedline.session.validation.passes import Passes
from tests.clock import FakeClock

SECONDS = st.floats(0.0, 50.0)
PASSES = st.lists(
    st.builds(
        Pass,
        seconds=SECONDS,
        steps=st.integers(0, 40),
        first_wait=st.none() | SECONDS,
        waits=st.lists(SECONDS, max_size=5),
        helped=st.booleans(),
    ),
    max_size=5,
)


def exactly(value):
    return Estimate(value, value, value)


class Model:
    """Whose test function takes `step_s`, without reading anything."""

    steps_per_execution = 1
    run_eagerly = True

    def __init__(self, clock, step_s):
        self.clock, self.step_s = clock, step_s
        self.test_function = self.test
        self.given = []

    def test(self, batch):
        self.given.append(batch)
        self.clock.work(self.step_s)
        return {"loss": 1.0}


def test_by_experiment_a_pass_is_its_steps_and_its_start():
    step = StepTimes(exactly(40.0), exactly(10.0), exactly(10.0)).started(2.0, 50)
    found = by_experiment(step, 50)
    assert found.seconds == pytest.approx(50 * 0.040 + 2.0)
    assert found.input_s == pytest.approx(50 * 0.030 + 2.0)
    assert found.compute_s == pytest.approx(0.5)
    assert not found.watched


def test_in_passing_the_first_pass_and_those_with_a_fix_do_not_count():
    made = [
        Pass(9.0, 10),
        Pass(3.0, 10, 1.0, [0.1, 0.1, 0.1]),
        Pass(4.0, 10, 1.2, [0.1, 0.1, 0.1]),
        Pass(0.5, 10, 0.0, [0.0, 0.0, 0.0], helped=True),
    ]
    found = in_passing(made)
    assert found.seconds == pytest.approx(3.5)
    assert found.input_s == pytest.approx((1.9 + 2.1) / 2)
    assert found.watched
    assert in_passing(made[:1]) == ValidationTimes(9.0, None, steps=10, watched=True)
    assert in_passing([]) is None
    assert in_passing(made[3:]) is None


@given(PASSES)
def test_nobody_waits_longer_than_it_takes(made):
    found = in_passing(made)
    if found is not None and found.input_s is not None:
        assert 0.0 <= found.input_s <= found.seconds
        assert found.input_s + found.compute_s == pytest.approx(found.seconds)


def test_a_pass_is_timed_without_tracing_and_the_training_before_it_with_its_epoch():
    clock = FakeClock()
    traced = 0.0
    passes, model = Passes(clock, lambda: traced), Model(clock, 0.25)
    for number in range(3):
        passes.epoch_begins()
        clock.work(6.0)
        passes.training_is_over()
        clock.work(100.0)  # what feedline did is nobody's
        passes.begins(model, 4, helped=number == 2)
        if number == 0:
            traced = 5.0
            clock.work(5.0)
        for batch in range(4):
            model.test_function(batch)
        passes.ends()
    assert passes.epochs == [6.0, 6.0, 6.0]
    assert [(each.seconds, each.steps) for each in passes.made] == [(1.0, 4)] * 3
    assert [each.helped for each in passes.made] == [False, False, True]
    assert model.given == [0, 1, 2, 3] * 3
    assert model.test_function == model.test
    assert passes.hidden == "its steps run eagerly"


def test_a_pass_that_is_broken_off_counts_for_nothing():
    clock = FakeClock()
    passes, model = Passes(clock), Model(clock, 0.25)
    passes.begins(model, 4, helped=False)
    model.test_function(0)
    passes.close()
    assert model.test_function == model.test
    assert passes.ends() is None
    assert passes.made == []


@pytest.mark.parametrize(
    ("given", "passes", "every"),
    [
        ({"epochs": 12}, 12, 1.0),
        ({"epochs": 12, "validation_freq": 5}, 2, 5.0),
        ({"epochs": 12, "initial_epoch": 4, "validation_freq": 4}, 2, 4.0),
        ({"epochs": 12, "initial_epoch": 4, "validation_freq": [2, 6, 9]}, 2, 4.0),
        ({"epochs": 12, "validation_freq": [40]}, 0, 1.0),
        ({"epochs": None}, None, 1.0),
    ],
)
def test_how_often_a_fit_validates(given, passes, every):
    found = validated({"validation_data": ([1], [2]), **given})
    assert (found.passes, found.every, found.kind) == (passes, every, "arrays")


def test_what_a_fit_was_told():
    assert validated({"epochs": 3}) is None
    assert validated({"validation_data": 1, "validation_freq": "often"}) is None
    split = validated({"validation_split": 0.2, "batch_size": 16})
    assert (split.batch_size, split.kind, split.steps) == (16, "arrays", None)
    told = {"validation_batch_size": 8, "batch_size": 16, "validation_steps": 5}
    found = validated({"validation_data": iter([]), **told})
    assert (found.batch_size, found.kind, found.steps) == (8, "generator", 5)
