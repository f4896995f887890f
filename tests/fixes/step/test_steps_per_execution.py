"""The fix steps-per-execution: what it proposes, and what its edit changes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from feedline import fixes
from feedline.fixes.fix import Edit
from feedline.fixes.target import Target
from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import (
    LAUNCHED,
    Epochs,
    looked,
    looked_at,
    of_function,
    one,
    proposed,
)


def test_several_steps_in_one_launch():
    proposal = one("steps-per-execution", looked(**LAUNCHED))
    assert (proposal.grade, proposal.costs) == ("exact", None)
    assert proposal.step_ms == pytest.approx(2.0)
    assert 100 % proposal.edit.args["steps"] == 0  # of 100 steps an epoch


@pytest.mark.parametrize(("epoch", "steps"), [(64, 64), (60, 60), (7, 7), (67, 34)])
def test_launches_are_even_where_the_data_end_the_epoch(epoch, steps):
    proposal = one("steps-per-execution", looked(cardinality=epoch, **LAUNCHED))
    assert proposal.edit.args == {"steps": steps}


@pytest.mark.parametrize(("epoch", "steps"), [(64, 64), (130, 26), (12, 12)])
def test_launches_end_where_steps_per_epoch_ends(epoch, steps):
    job = {"steps_per_epoch": epoch, "restarts": False}
    proposal = one("steps-per-execution", looked(job=job, **LAUNCHED))
    assert proposal.edit.args == {"steps": steps}


@pytest.mark.parametrize("epoch", [67, 3, 1])
def test_no_launch_goes_past_steps_per_epoch(epoch):
    job = {"steps_per_epoch": epoch, "restarts": False}
    assert proposed("steps-per-execution", looked(job=job, **LAUNCHED)) == []


@pytest.mark.parametrize(
    "job",
    [
        {"kind": "loop"},
        {"eager": True},
        {"steps_per_execution": 4},
        {"strategy": "MirroredStrategy"},
        {"callbacks": ("mine.Logger",)},
    ],
    ids=lambda job: next(iter(job)),
)
def test_launches_that_are_left_alone(job):
    assert proposed("steps-per-execution", looked(job=job, **LAUNCHED)) == []


def test_quiet_callbacks_do_not_matter():
    job = {"callbacks": ("keras.callbacks.History", "keras.callbacks.CSVLogger")}
    assert proposed("steps-per-execution", looked(job=job, **LAUNCHED))


def test_a_step_that_rows_made_short_is_launched_with_others():
    """Nothing is known of what starting it is by then: it is tried."""
    dense = looked(ceiling=200.0, step={"overhead": 1.0})
    assert proposed("steps-per-execution", dense) == []
    rows = replace(dense, edits=(Edit("row-sparse-embedding"),), step_ms=10.0)
    proposal = one("steps-per-execution", rows)
    assert proposal.step_ms == pytest.approx(0.8 * 200.0)
    assert proposal.edit.args == {"steps": 50}  # of 100; of 8 ms, not of 160


def test_steps_of_a_bare_loop_go_together_once_they_are_graphs():
    def at(**job):
        return looked(job={"kind": "loop", **job}, step={"overhead": 8.0})

    proposal = one("steps-per-execution", at(bare=True))
    assert (proposal.edit.args, proposal.grade) == ({"steps": 64}, "exact")
    assert proposed("steps-per-execution", at()) == []
    assert proposed("steps-per-execution", at(bare=True, strategy="OneDevice")) == []
    eager = at(bare=True, eager=True)
    assert proposed("steps-per-execution", eager) == []
    compiled = replace(eager, edits=(Edit("compile-step"),))
    assert one("steps-per-execution", compiled).step_ms == pytest.approx(
        0.8 * compiled.measured.step.ceiling.value
    )


@pytest.mark.parametrize(
    "stage",
    [
        part("map", 1.0, name="f", python=True),
        part("map", 1.0, name="f", ops=("ReadVariableOp",)),
        of_function(part("map", 1.0, name="f"), stateful=True),
    ],
)
def test_no_batch_is_read_ahead_that_may_depend_on_the_step(stage):
    job = {"kind": "loop", "bare": True}
    case = looked_at(SLICES, stage, BATCH, job=job, step={"overhead": 8.0})
    assert proposed("steps-per-execution", case) == []


def test_only_training_is_launched_several_steps_at_once():
    model = SimpleNamespace(steps_per_execution=1, run_eagerly=False)
    epochs = Epochs(steps_per_epoch=20, num_batches=20)
    target = Target(model, epochs)
    install = fixes.all()["steps-per-execution"].install
    assert install is not None
    undo = install(target, Edit("steps-per-execution", None, {"steps": 8}))
    (around,) = target.around
    launch = around(lambda iterator: (iterator, model.steps_per_execution))
    assert launch("data") == ("data", 5)
    assert (model.steps_per_execution, epochs.steps_per_execution) == (1, 5)
    undo()
    assert epochs.steps_per_execution == 1
