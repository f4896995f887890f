"""Messages between the command and the script's process: nothing is lost on the way,
and what is no message is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedline import causes
from feedline.fixes.fix import Edit, Proposal
from feedline.fixes.plan import Outcome as Tried
from feedline.fixes.plan import Plan, Trial
from feedline.job.job import Job
from feedline.job.tfdata.pipeline import Function, Pipeline, Stage, TensorSpec, Where
from feedline.measure.measurement import Estimate, Measurement
from feedline.prove.proof import Cured, Faster, Same
from feedline.report.basis import Basis
from feedline.report.json import from_json, to_json
from feedline.session.judge import judge
from feedline.session.messages import Order, Outcome, decode, encode
from tests.plans import somewhere
from tests.session.build import basis, slow_map

texts = st.text(st.characters(exclude_categories=[]), max_size=30)


@given(target=st.lists(texts, min_size=1), seconds=st.floats(0.1, 1e6))
def test_an_order_comes_through_as_it_is(target, seconds):
    plan = somewhere(Edit("cache", 1, {"on_disk": False}), Edit("prefetch"))
    order = Order("run", tuple(target), False, seconds, plan=plan)
    assert decode(Order, encode(order)) == order


@given(seen=st.lists(texts), loops=st.integers(0, 9), why=texts)
def test_an_outcome_comes_through_as_it_is(seen, loops, why):
    outcome = Outcome(seen=tuple(seen), loops=loops, why_not=why)
    assert decode(Outcome, encode(outcome)) == outcome


NONSENSE = [b"", b"[]", b'{"other": 1}', b"{", b"\xff", b"[" * 100_000]


@pytest.mark.parametrize("data", NONSENSE)
def test_anything_else_is_no_message(data):
    with pytest.raises(ValueError, match="it is no outcome"):
        decode(Outcome, data)


def test_another_message_or_one_of_another_version_is_refused():
    with pytest.raises(ValueError, match="it is no outcome"):
        decode(Outcome, encode(Order("why", ("train.py",), False, 1.0)))
    with pytest.raises(ValueError, match="later"):
        decode(Outcome, b'{"type": "outcome", "later": 1}')
    data = json.loads(encode(Outcome(basis=basis())))
    data["basis"]["job"]["kind"] = "dance"
    with pytest.raises(ValueError, match="kind"):
        decode(Outcome, json.dumps(data).encode())


def test_what_is_no_plain_data_is_an_error_and_no_message():
    measured = replace(slow_map().measured, unknown=(object(),))
    with pytest.raises(TypeError, match="object cannot be sent"):
        encode(Outcome(basis=Basis.of(slow_map().job, measured)))


def test_numbers_of_numpy_are_numbers():
    slow = slow_map()
    measured = replace(slow.measured, trace_ms=np.float64(1.5), seconds=np.float32(2))
    found = decode(Outcome, encode(Outcome(basis=Basis.of(slow.job, measured))))
    assert found.basis.measurement == replace(measured, trace_ms=1.5, seconds=2.0)


# ------------------------------------------------------- the job and its measurement

_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    float: st.floats(allow_nan=False),
    int: st.integers(-(2**53), 2**53),
    str: texts,
    bool: st.booleans(),
}


def drawn(kind: Any) -> st.SearchStrategy[Any]:
    """Anything that this annotation allows."""
    args = get_args(kind)
    if get_origin(kind) is UnionType:
        return st.none() | drawn(next(a for a in args if a is not type(None)))
    if get_origin(kind) is Literal:
        return st.sampled_from(args)
    if get_origin(kind) is tuple and args[-1] is Ellipsis:
        return st.lists(drawn(args[0]), max_size=2).map(tuple)
    if get_origin(kind) is tuple:
        return st.tuples(*map(drawn, args))
    if get_origin(kind) is Mapping:
        return st.dictionaries(drawn(args[0]), drawn(args[1]), max_size=2)
    if kind is Pipeline:
        return pipelines()
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(kind, **{f.name: drawn(hints[f.name]) for f in fields(kind)})
    return _PLAIN[kind]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2**40) | st.floats(0, 9) | texts,
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    """Stages over any of those before them, so that some are read twice."""
    made: list[Stage] = []
    for _ in range(draw(st.integers(1, 5))):
        inputs = draw(st.lists(st.sampled_from(made), max_size=2)) if made else []
        made.append(
            Stage(
                draw(st.sampled_from(["map", "batch", "zip", "interleave"])),
                tuple(inputs),
                draw(st.dictionaries(texts, values, max_size=2)),
                tuple(draw(st.lists(drawn(Function), max_size=1))),
                tuple(draw(st.lists(drawn(TensorSpec), max_size=1))),
                draw(st.none() | drawn(Where)),
                inner=draw(st.none() | st.just(Stage("tfrecord"))),
                number=len(made),
            )
        )
    return Pipeline(made[-1], draw(st.dictionaries(texts, values, max_size=2)), 7)


@given(drawn(Job), drawn(Measurement))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_job_and_its_measurement_come_through_as_they_are(job, measured):
    sent = Outcome(basis=Basis.of(job, measured))
    heard = decode(Outcome, encode(sent))
    assert heard == sent
    assert heard.basis.whole() == (job, measured)


@given(pipelines())
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_stage_that_two_read_stays_one_stage(pipeline):
    job = Job("fit", pipeline=pipeline)
    again, _ = Basis.of(job, slow_map().measured).whole()
    assert [stage.label() for stage in again.pipeline.stages()] == [
        stage.label() for stage in pipeline.stages()
    ]


def test_a_long_pipeline_is_no_deep_nesting():
    stage = Stage("range")
    for number in range(3000):
        stage = Stage("concatenate", (stage, stage), number=number)
    slow = slow_map()
    sent = Outcome(basis=Basis.of(Job("fit", pipeline=Pipeline(stage)), slow.measured))
    job, _ = decode(Outcome, encode(sent)).basis.whole()
    assert len(list(job.pipeline.stages())) == 3001


def test_live_objects_stay_behind():
    stage = Stage("map", args={"f": print, "names": ("a", "b")}, handle=object())
    job = Job("fit", pipeline=Pipeline(stage, handle=object()))
    sent = Outcome(basis=Basis.of(job, slow_map().measured))
    again, _ = decode(Outcome, encode(sent)).basis.whole()
    assert again.pipeline.root.args == {"names": ("a", "b")}
    assert again.pipeline.root.handle is None


# ----------------------------------------------------------------------- the verdict


def proved() -> Cured:
    gain = Estimate(2.0, 1.9, 2.1, 9)
    edit = Edit("parallel-map", 1, {"calls": -1})
    trial = Trial(Proposal(edit, "exact"), 1.8, Tried(True, "exact", gain))
    after = Faster(Estimate(60, 59, 61), Estimate(30, 29, 31), gain)
    return Cured(Plan((edit,), (trial,)), after, Same(True, 512, 1), 4)


def test_the_verdict_is_the_same_here_there_and_from_a_file():
    slow = slow_map()
    kept = Basis.of(slow.job, slow.measured, proved(), script="train.py", seconds=4.0)
    here = judge(kept)
    assert [each.cause for each in here.findings] == [
        each.cause for each in causes.diagnose(slow.job, slow.measured)
    ]
    assert here.fixes[0].applied
    there = judge(decode(Outcome, encode(Outcome(basis=kept))).basis)
    saved = from_json(to_json(here))
    assert here == there == saved == judge(saved.basis)


def test_infinity_in_a_measurement_survives_a_file():
    """Files that are too small to tell how fast they stream."""
    slow = slow_map()
    measured = replace(slow.measured, trace_ms=float("inf"))
    report = judge(Basis.of(slow.job, measured))
    assert from_json(to_json(report)).basis.measurement.trace_ms == float("inf")


def test_the_measurement_of_another_format_is_passed_over():
    data = json.loads(to_json(judge(basis())))
    data["basis"] = {"format": 2, "anything": 1}
    assert from_json(json.dumps(data)).basis is None
