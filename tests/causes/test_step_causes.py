"""Causes in the step and around it: each fault, and the same job without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline.job.job import Layer, Retrace
from feedline.job.tfdata.pipeline import Where
from feedline.measure.measurement import (
    Line,
    MatmulCost,
    RunTimes,
    SoftmaxCost,
    TableCost,
)
from tests.causes.build import ACCELERATED, AHEAD, BATCH, HOST, SLICES, about, case

INPUT = (SLICES, BATCH, AHEAD)
TENSOR_CORES = replace(ACCELERATED, tensor_cores=True)


def step_bound(**how):
    return case(*INPUT, **{"observed": 10.1, "ceiling": 10.0, **how})


def test_nothing_found_is_a_verdict_too():
    assert step_bound().names() == []
    assert step_bound(step={"overhead": 2.0}).names() == []


def test_small_batch():
    flat = ((16, 9.5), (32, 10.0), (64, 11.0), (128, 13.0))
    slow = step_bound(step={"curve": flat})
    assert slow.names() == ["small-batch"]
    assert slow.findings()[0].cost_ms == pytest.approx(10 - 13 / 4)
    steep = ((16, 5.5), (32, 10.0), (64, 19.0), (128, 37.0))
    assert "small-batch" not in step_bound(step={"curve": steep}).names()
    assert "small-batch" not in step_bound(step={"curve": flat[:2]}).names()


def test_launch_overhead():
    tried = step_bound(what_if={"step:steps-per-execution": about(3.0)})
    assert tried.names() == ["launch-overhead"]
    assert tried.findings()[0].cost_ms == pytest.approx(7.0)
    assert step_bound(step={"overhead": 8.0}).names() == ["launch-overhead"]
    no_gain = step_bound(
        step={"overhead": 8.0}, what_if={"step:steps-per-execution": about(9.9)}
    )
    assert "launch-overhead" not in no_gain.names()
    beside = step_bound(  # what ran in the same turns counts, not the ceiling
        what_if={
            "step:steps-per-execution": about(3.0),
            "step:as-is": about(3.0),
        }
    )
    assert "launch-overhead" not in beside.names()
    has_it = step_bound(step={"overhead": 8.0}, job={"steps_per_execution": 16})
    assert "launch-overhead" not in has_it.names()


def test_what_launching_explains_is_not_the_batch():
    both = step_bound(
        step={"curve": ((32, 10.0), (128, 12.0))},
        what_if={"step:steps-per-execution": about(3.0)},
    )
    assert both.names() == ["launch-overhead"]


def test_eager_step():
    tried = step_bound(job={"eager": True}, what_if={"step:compiled": about(2.0)})
    assert tried.names() == ["eager-step"]
    assert tried.findings()[0].cost_ms == pytest.approx(8.0)
    alone = step_bound(job={"eager": True}, step={"overhead": 9.0})
    assert alone.names() == ["eager-step"]
    assert "eager-step" not in step_bound(step={"overhead": 9.0}).names()


def test_retracing():
    again = Retrace("train_step", Where("train.py", 7), 14, "a new shape")
    slow = step_bound(observed=60.0, host_fed=60.0, job={"retraces": (again,)})
    assert "retracing" not in slow.names()  # it took no time
    slow = replace(slow, measured=replace(slow.measured, trace_ms=40.0))
    assert slow.names() == ["retracing"]
    assert str(slow.findings()[0].where) == "train.py:7"
    assert "traced 14 times" in slow.findings()[0].evidence
    assert step_bound(trace_ms=40.0).names() == []


TABLE = TableCost("embedding", 200_000, 100, 2_500, "Adam", 93.0, 3.0)


def test_dense_embedding_update():
    """The table's update takes as long for any batch; the size of the batch is
    not to blame for that."""
    slow = step_bound(
        observed=101.0,
        ceiling=100.0,
        tables=(TABLE,),
        step={"overhead": 5.0, "curve": ((32, 100.0), (64, 101.0), (512, 108.0))},
    )
    assert slow.names() == ["dense-embedding-update"]
    assert slow.findings()[0].cost_ms == pytest.approx(90.0)
    assert "200,000 rows" in slow.findings()[0].evidence
    small = replace(TABLE, rows=1_000, update=3.1)
    assert step_bound(observed=101.0, ceiling=100.0, tables=(small,)).names() == []


def test_full_softmax():
    slow = step_bound(softmax=SoftmaxCost("dense", 50_000, 8.0, 0.5))
    assert slow.names() == ["full-softmax"]
    assert "50,000 classes" in slow.findings()[0].evidence
    healthy = step_bound(softmax=SoftmaxCost("dense", 10, 0.1, 0.1))
    assert healthy.names() == []


def test_accelerator_unseen():
    unseen = replace(HOST, accelerators_present=("NVIDIA A100",))
    slow = step_bound(machine=unseen)
    assert slow.names() == ["accelerator-unseen"]
    assert "NVIDIA A100" in slow.findings()[0].evidence
    used = replace(ACCELERATED, accelerators_present=("NVIDIA A100",))
    assert step_bound(machine=used).names() == []
    waits = case(*INPUT, machine=unseen, ceiling=0.1)  # a fact, though it costs little
    assert "accelerator-unseen" in waits.names()


def test_chatty_callbacks():
    busy = {"observed": 30.0, "host_fed": 30.0, "step": {"host_work": 19.0}}
    slow = step_bound(**busy, job={"callbacks": ("train.Log", "History")})
    assert slow.names() == ["chatty-callbacks"]
    assert "in Log," in slow.findings()[0].evidence
    assert step_bound(**busy, job={"callbacks": ("History",)}).names() == []
    assert step_bound(**busy, job={"callbacks": ("EarlyStopping",)}).names() == []
    assert step_bound(job={"callbacks": ("train.Log",)}).names() == []


def test_what_fit_does_between_two_steps_is_overhead_of_the_launch():
    busy = {"observed": 10.0, "step": {"host_work": 8.0, "overhead": 9.0}}
    tried = {"step:steps-per-execution": about(1.9), "step:as-is": about(2.0)}
    slow = step_bound(**busy, what_if=tried)
    assert slow.names() == ["launch-overhead"]
    assert slow.findings()[0].cost_ms == pytest.approx(7.6)
    users = step_bound(**busy, what_if=tried, job={"callbacks": ("Log",)})
    assert users.names()[0] == "chatty-callbacks"


@pytest.mark.parametrize("kind", ["loop", "function", "iterator"])
def test_host_sync(kind):
    slow = step_bound(
        observed=30.0,
        host_fed=30.0,
        step={"host_work": 19.0},
        job={"kind": kind, "syncs_per_step": 2.0},
    )
    assert slow.names() == ["host-sync"]
    assert "reads 2.0 values" in slow.findings()[0].evidence
    assert step_bound(job={"kind": kind, "syncs_per_step": 2.0}).names() == []


def test_starved_replicas():
    mirrored = {"strategy": "MirroredStrategy", "replicas": 1}
    slow = step_bound(job=mirrored, what_if={"step:no-strategy": about(4.0)})
    assert slow.names() == ["starved-replicas"]
    assert slow.findings()[0].cost_ms == pytest.approx(6.0)
    worth_it = step_bound(job=mirrored, what_if={"step:no-strategy": about(25.0)})
    assert worth_it.names() == []
    two = {"strategy": "MirroredStrategy", "replicas": 2}
    assert step_bound(job=two, step={"overhead": 9.0}).names() == ["starved-replicas"]
    assert step_bound(job=two, step={"overhead": 1.0}).names() == []


ODD = MatmulCost("dense", (128, 100, 50_257), 4.0, padded=2.5, half=4.0)


def test_misaligned_shapes():
    slow = step_bound(machine=TENSOR_CORES, matmuls=(ODD,))
    assert slow.names() == ["misaligned-shapes"]
    assert slow.findings()[0].cost_ms == pytest.approx(1.5)
    even = replace(ODD, shape=(128, 104, 50_264))
    assert step_bound(machine=TENSOR_CORES, matmuls=(even,)).names() == []
    assert step_bound(machine=ACCELERATED, matmuls=(ODD,)).names() == []


def test_precision():
    matmul = replace(ODD, padded=None, half=1.0)
    slow = step_bound(machine=TENSOR_CORES, matmuls=(matmul,))
    assert slow.names() == ["precision"]
    assert slow.findings()[0].cost_ms == pytest.approx(3.0)
    half = {"layers": (Layer("dense", "Dense", compute_dtype="float16"),)}
    assert step_bound(machine=TENSOR_CORES, matmuls=(matmul,), job=half).names() == []
    assert step_bound(machine=ACCELERATED, matmuls=(matmul,)).names() == []


def test_slow_preparation():
    lines = (
        Line(Where("prepare.py", 3), 1.0),
        Line(Where("/a/train.py", 12, "pairs = skipgrams(text)"), 7.9),
    )
    run = RunTimes(prepare_s=10.0, train_s=2.0, slowest_lines=lines)
    slow = step_bound(run=run, epochs=2)
    assert slow.names() == ["slow-preparation"]
    finding = slow.findings()[0]
    assert str(finding.where) == "train.py:12"
    assert "`pairs = skipgrams(text)` alone takes 7.9 s" in finding.evidence
    assert finding.cost_ms == pytest.approx(10_000 / 200)
    assert step_bound(run=replace(run, train_s=100.0)).names() == []
    unknown = replace(run, train_s=None, epoch_s=0.4)
    assert "an epoch 0.4 s" in step_bound(run=unknown).findings()[0].evidence
    assert step_bound(run=replace(unknown, epoch_s=4.0)).names() == []
    assert step_bound(run=replace(run, prepare_s=2.0)).names() == []
    assert step_bound(run=replace(run, train_s=None)).names() == []


def test_what_is_lost_in_the_noise_is_not_told():
    wide = {"observed": about(10.1, by=0.4)}
    softmax = SoftmaxCost("dense", 50_000, 3.0, 0.5)
    assert step_bound(softmax=softmax).names() == ["full-softmax"]
    assert step_bound(softmax=softmax, step=wide).names() == []
    seen = step_bound(softmax=softmax, step=wide, only_observed=True)
    assert seen.names() == ["full-softmax"]  # a part of the very steps that differ
