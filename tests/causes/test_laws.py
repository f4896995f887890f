"""Laws that hold for any job and any measurement, however strange."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import get_args

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedline import causes
from feedline.job.job import Job, Retrace
from feedline.job.tfdata.pipeline import Function, Pipeline, Stage, TensorSpec, Where
from feedline.measure import measurement as m

OPS = [
    "from_tensor_slices",
    "tfrecord",
    "list_files",
    "map",
    "shuffle",
    "batch",
    "cache",
    "repeat",
    "interleave",
    "flat_map",
    "filter",
    "prefetch",
    "from_generator",
    "opaque",
]
WHERE = st.sampled_from([None, Where("train.py", 1), Where("train.py", 2, "x = 1")])
MS = st.floats(0.0, 1000.0)
COUNT = st.integers(0, 10**6)
SPEC = st.sampled_from(
    [
        (),
        (TensorSpec("uint8", (8, 8, 3)),),
        (TensorSpec("float32", (8, 8, 3)),),
        (TensorSpec("string", ()),),
        (TensorSpec("int64", None), TensorSpec("float32", (None, 4))),
    ]
)


@st.composite
def estimates(draw):
    value = draw(MS)
    spread = draw(st.floats(0.0, 0.5)) * value
    return m.Estimate(value, value - spread, value + spread)


@st.composite
def pipelines(draw):
    root = None
    for op in draw(st.lists(st.sampled_from(OPS), min_size=1, max_size=6)):
        known = st.sampled_from([(), (Function("f", ops={"ReadFile": 1}),)])
        args = st.sampled_from([{}, {"buffer_size": 500}, {"count": 2}, {"count": -1}])
        root = Stage(
            op,
            inputs=() if root is None else (root,),
            args=draw(args),
            functions=draw(known),
            spec=draw(SPEC),
            where=draw(WHERE),
            random=draw(st.booleans()),
        )
    return Pipeline(root, cardinality=draw(st.integers(-2, 1000)))


JOBS = st.builds(
    Job,
    kind=st.sampled_from(["fit", "loop", "function", "iterator"]),
    where=WHERE,
    pipeline=st.none() | pipelines(),
    batch_size=st.none() | st.integers(0, 512),
    epochs=st.none() | st.integers(0, 9),
    steps_per_epoch=st.none() | st.integers(0, 900),
    eager=st.booleans(),
    strategy=st.sampled_from([None, "MirroredStrategy"]),
    replicas=st.integers(1, 4),
    callbacks=st.sampled_from([(), ("Log",)]),
    syncs_per_step=st.floats(0.0, 3.0),
    retraces=st.sampled_from([(), (Retrace("f", None, 3),)]),
    files=st.none() | COUNT,
)
MEASUREMENTS = st.builds(
    m.Measurement,
    machine=st.builds(
        m.Machine,
        cores=st.integers(1, 64),
        memory_gb=st.just(24.0),
        free_memory_gb=st.floats(0.0, 24.0),
        devices=st.sampled_from([("CPU:0",), ("CPU:0", "GPU:0")]),
        accelerators_present=st.sampled_from([(), ("A100",)]),
        tensor_cores=st.booleans(),
    ),
    step=st.builds(
        m.StepTimes,
        observed=estimates(),
        host_fed=estimates(),
        ceiling=estimates(),
        batch_size=st.none() | st.integers(0, 512),
        overhead=st.none() | MS,
        input_alone=st.none() | estimates(),
        host_work=MS,
        epoch_start=MS,
        cpu=st.none() | MS,
        curve=st.lists(st.tuples(st.integers(1, 999), MS), max_size=3).map(tuple),
    ),
    run=st.builds(
        m.RunTimes,
        prepare_s=MS,
        train_s=st.none() | MS,
        epoch_s=st.none() | MS,
        slowest_lines=st.sampled_from([(), (m.Line(Where("a.py", 1), 2.0),)]),
    ),
    stages=st.lists(
        st.builds(
            m.StageCost,
            index=st.integers(-1, 7),
            name=st.just("stage"),
            ms_per_batch=MS,
            bytes_per_element=st.floats(0.0, 1e7),
            elements_per_batch=st.floats(0.0, 512.0),
            parallelism=st.integers(1, 16),
            asynchronous=st.booleans(),
            injected=st.booleans(),
        ),
        max_size=6,
    ).map(tuple),
    tables=st.lists(
        st.builds(
            m.TableCost,
            name=st.just("table"),
            rows=COUNT,
            dim=COUNT,
            touched=COUNT,
            optimizer=st.just("Adam"),
            update=MS,
            update_touched_only=MS,
        ),
        max_size=2,
    ).map(tuple),
    softmax=st.none() | st.builds(m.SoftmaxCost, st.just("dense"), COUNT, MS, MS),
    matmuls=st.lists(
        st.builds(
            m.MatmulCost,
            layer=st.just("dense"),
            shape=st.tuples(COUNT, COUNT, COUNT),
            as_is=MS,
            padded=st.none() | MS,
            half=st.none() | MS,
        ),
        max_size=2,
    ).map(tuple),
    files=st.none() | st.builds(m.FileCost, COUNT, MS, MS, MS, MS),
    what_if=st.dictionaries(
        st.sampled_from(get_args(m.WhatIf)),
        estimates(),
    ),
    trace_ms=MS,
    validation=st.none()
    | st.builds(
        m.ValidationTimes,
        seconds=MS,
        input_s=st.none() | MS,
        passes=st.none() | st.integers(0, 99),
        every=st.floats(1.0, 9.0),
        steps=st.none() | st.integers(0, 999),
        epoch_s=st.none() | MS,
    ),
)
LAW = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_jobs_written_by_hand_are_of_ops_that_a_pipeline_can_have():
    """Else a cause could look for what nothing makes, and its test keep it alive."""
    from feedline.job.tfdata import ops

    known = {*ops.OPS, ops.OPAQUE}
    assert set(OPS) <= known
    for folder in ("causes", "fixes"):
        for path in Path(__file__).parents[1].joinpath(folder).rglob("*.py"):
            assert set(_parts(path)) <= known, path.name


def _parts(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "part":
            first = node.args[0]
            if isinstance(first, ast.Constant):
                yield first.value


@LAW
@given(JOBS, MEASUREMENTS)
def test_costs_are_parts_of_the_step_ranked_and_above_the_noise(job, measured):
    """Without `diagnose`'s safety net: no cause may raise by itself."""
    observed = measured.step.observed
    for cause in causes.all().values():
        for finding in cause.detect(job, measured):
            assert finding.cause == cause.name
            assert finding.fixes
            assert set(finding.fixes) <= set(cause.fixes)
            assert finding.cost_ms >= 0
            assert finding.evidence
            if cause.name not in ("slow-preparation", "slow-validation"):
                assert finding.cost_ms <= observed.value + 1e-9
    findings = causes.diagnose(job, measured)
    costs = [round(finding.cost_ms, 6) for finding in findings]
    assert costs == sorted(costs, reverse=True)
    noise = max(0.02 * observed.value, (observed.high - observed.low) / 2)
    for finding in findings:
        assert causes.all()[finding.cause].fact or finding.cost_ms >= noise


@LAW
@given(JOBS, MEASUREMENTS)
def test_a_job_at_its_ceiling_has_no_fault_of_input(job, measured):
    """When a step waits for nothing, no stage can be what makes it slow."""
    observed = measured.step.observed
    step = replace(measured.step, host_fed=observed, ceiling=observed, epoch_start=0.0)
    of_input = [
        "serial-map",
        "per-element-map",
        "no-prefetch",
        "recomputed-every-epoch",
        "serial-read",
        "many-small-files",
        "slow-storage",
        "python-in-pipeline",
        "wide-transfer",
        "host-augmentation",
        "shuffle-refill",
        "ordered-straggler",
        "host-saturated",
    ]
    found = causes.diagnose(job, replace(measured, step=step))
    assert not {finding.cause for finding in found} & set(of_input)
