"""Stages and what the fixes made of them, as rows of a report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline.fixes.fix import Edit, Proposal
from feedline.fixes.plan import Outcome, Plan, Trial
from feedline.job.tfdata.pipeline import Function, Pipeline, Stage
from feedline.measure.measurement import Estimate, Machine, Measurement, StageCost
from feedline.measure.measurement import StepTimes as Times
from feedline.prove.proof import Cured, Faster, Same
from feedline.report.after import after, proof
from feedline.report.stages import Stages


def exactly(value: float) -> Estimate:
    return Estimate(value, value, value)


def cost(index: int, name: str, ms: float, **more) -> StageCost:
    return StageCost(index, name, ms_per_batch=ms, **more)


# -------------------------------------------------------------------- stages

LEFT = Stage("tfrecord")
MAPPED = Stage("map", (LEFT,), {"num_parallel_calls": -1})
RIGHT = Stage("range")
BOTH = Stage("zip", (MAPPED, RIGHT))
SIX = Stage("map", (BOTH,), {"num_parallel_calls": 6})
LAST = Stage("map", (SIX,), functions=(Function("speak", python=True),))


def test_a_row_says_which_rows_feed_it():
    pipeline = Pipeline(LAST)
    order = {id(stage): place for place, stage in enumerate(pipeline.stages())}
    costs = [
        cost(order[id(RIGHT)], "range", 1.0),
        cost(order[id(LEFT)], "tfrecord", 1.0),
        cost(order[id(MAPPED)], "map", 1.0, asynchronous=True, parallelism=2),
        cost(-1, "prefetch", 0.0, asynchronous=True, injected=True),
        cost(order[id(BOTH)], "zip", 1.0),
        cost(order[id(LAST)], "map", 1.0),  # the stage before it has no row
    ]
    rows = Stages(pipeline).rows(costs)
    assert [row.inputs for row in rows] == [(), (), (1,), (2,), (3, 0), (4,)]


def test_a_row_says_how_the_stage_runs():
    pipeline = Pipeline(LAST)
    order = {id(stage): place for place, stage in enumerate(pipeline.stages())}
    costs = [
        cost(order[id(MAPPED)], "map", 1.0, asynchronous=True, parallelism=2),
        cost(order[id(SIX)], "map", 1.0, asynchronous=True, parallelism=6, busy=0.5),
        cost(order[id(LAST)], "map", 1.0),
        cost(-1, "prefetch", 0.0, asynchronous=True, injected=True),
    ]
    rows = Stages(pipeline).rows(costs)
    assert [row.tuned for row in rows] == [True, False, False, False]
    assert [row.ahead for row in rows] == [True, True, False, True]
    assert [row.python for row in rows] == [False, False, True, False]
    assert [row.busy for row in rows] == [1.0, 0.5, 1.0, 1.0]


def test_without_a_pipeline_there_are_rows_all_the_same():
    rows = Stages(None).rows([cost(0, "map", 2.0), cost(1, "batch", 1.0)])
    assert [row.label for row in rows] == ["map", "batch"]
    assert [row.inputs for row in rows] == [None, (0,)]


# ----------------------------------------------------------------- the fixes

COSTS = (cost(0, "tfrecord", 2.0), cost(1, "map", 60.0))
MEASURED = Measurement(
    machine=Machine(2, 24.0, 10.0),
    step=Times(exactly(80.0), exactly(12.0), exactly(10.0), overhead=4.0, cpu=10.0),
    stages=COSTS,
)


def cured(*proposals: Proposal, after_ms: float) -> Cured:
    kept = Outcome(True, "exact", exactly(2.0))
    lost = Trial(Proposal(Edit("unordered"), "reordered"), 1.5, Outcome(False, "exact"))
    plan = Plan(
        tuple(proposal.edit for proposal in proposals),
        (lost, *(Trial(proposal, 2.0, kept) for proposal in proposals)),
    )
    faster = Faster(exactly(80.0), exactly(after_ms), exactly(80.0 / after_ms))
    return Cured(plan, faster, Same(True, 33, 1), 8)


def test_a_cache_leaves_the_step_alone_and_pays_in_the_first_epoch():
    wide = (COSTS[0], replace(COSTS[1], asynchronous=True, parallelism=2))
    kept = tuple(replace(each, ms_per_batch=0.0) for each in wide)
    made = after(
        cured(
            Proposal(Edit("parallel-map", 1), "exact", costs=wide),
            Proposal(Edit("cache", 1), "exact", costs=kept),
            after_ms=13.0,
        ),
        MEASURED,
        Stages(None),
    )
    assert made is not None
    assert made.ceiling_ms == 10.0
    assert [row.ms_per_step for row in made.stages] == [0.0, 0.0]
    assert [row.first_ms_per_step for row in made.stages] == [2.0, 60.0]
    assert made.stages[1].ahead
    assert made.shares == pytest.approx(
        {"input": 1 / 13, "transfer": 2 / 13, "overhead": 4 / 13, "compute": 6 / 13},
        abs=1e-3,
    )


def test_what_a_cache_of_the_scripts_own_spares_costs_nothing_later():
    costs = [cost(0, "tfrecord", 40.0), cost(1, "cache", 1.0), cost(2, "batch", 3.0)]
    rows = Stages(None, {0}).rows(costs)
    assert [row.ms_per_step for row in rows] == [0.0, 1.0, 3.0]
    assert [row.first_ms_per_step for row in rows] == [40.0, None, None]
    assert [row.share for row in rows] == [0.0, 0.25, 0.75]
    added = [cost(-1, "prefetch", ms, injected=True) for ms in (1.0, 2.0)]
    assert all(row.first_ms_per_step is None for row in Stages(None).rows(added))


def test_a_fix_of_the_step_makes_it_shorter():
    sparse = Proposal(Edit("row-sparse-embedding"), "numeric", step_ms=5.0)
    made = after(cured(sparse, after_ms=8.0), MEASURED, Stages(None))
    assert made is not None
    assert made.ceiling_ms == 5.0
    assert [row.ms_per_step for row in made.stages] == [2.0, 60.0]
    assert made.shares is not None
    assert made.shares["input"] == pytest.approx(1 / 8, abs=1e-3)
    assert sum(made.shares.values()) == pytest.approx(1)


def test_nothing_applied_is_nothing_after():
    assert after(Cured(Plan()), MEASURED, Stages(None)) is None
    assert proof(Cured(Plan())) is None


def test_the_proof_tells_what_was_compared():
    made = proof(cured(Proposal(Edit("cache", 1), "exact"), after_ms=13.0))
    assert made is not None
    assert made.text == (
        "33 batches compared bit for bit, 1 whole epoch; the weights compared after 8 "
        "steps from the same start"
    )
