"""The model of a pipeline's rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline.measure.measurement import StageCost
from feedline.measure.predict import predict_step


def stage(ms: float, *, threads: int = 1, ahead: bool = False) -> StageCost:
    return StageCost(0, "map", ms_per_batch=ms, parallelism=threads, asynchronous=ahead)


def test_stages_that_take_turns_add_up() -> None:
    assert predict_step(
        [stage(3), stage(4)], ceiling_ms=5, step_cpu_ms=0, cores=4
    ) == pytest.approx(12)


def test_a_prefetch_lets_input_and_step_overlap() -> None:
    assert predict_step(
        [stage(3), stage(0, ahead=True)], ceiling_ms=5, step_cpu_ms=0, cores=4
    ) == pytest.approx(5)


def test_threads_divide_the_work_as_far_as_there_are_cores() -> None:
    assert predict_step(
        [stage(40, threads=8, ahead=True)], ceiling_ms=5, step_cpu_ms=0, cores=4
    ) == pytest.approx(10)


def test_the_cores_are_shared_with_the_step() -> None:
    assert predict_step(
        [stage(8, threads=2, ahead=True)], ceiling_ms=5, step_cpu_ms=10, cores=2
    ) == pytest.approx(9)


COSTS = st.builds(
    stage,
    st.floats(0, 1e4),
    threads=st.integers(1, 16),
    ahead=st.booleans(),
)


@given(
    st.lists(COSTS, max_size=8),
    st.floats(0, 1e4),
    st.floats(0, 1e4),
    st.integers(1, 64),
)
def test_no_step_is_shorter_than_its_ceiling_or_than_the_cores_allow(
    stages: list[StageCost], ceiling: float, cpu: float, cores: int
) -> None:
    step = predict_step(stages, ceiling_ms=ceiling, step_cpu_ms=cpu, cores=cores)
    work = cpu + sum(each.ms_per_batch for each in stages)
    assert step >= ceiling
    assert step >= work / cores - 1e-6
    more = predict_step(stages, ceiling_ms=ceiling, step_cpu_ms=cpu, cores=cores + 1)
    assert more <= step
