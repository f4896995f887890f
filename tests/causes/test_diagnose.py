"""What is told of a job, and what is not: nothing, and what is lost in the noise."""

from __future__ import annotations

from feedline.measure.measurement import (
    SoftmaxCost,
)
from tests.causes.build import (
    about,
    step_bound,
)


def test_nothing_found_is_a_verdict_too():
    assert step_bound().names() == []
    assert step_bound(step={"overhead": 2.0}).names() == []


def test_what_is_lost_in_the_noise_is_not_told():
    wide = {"observed": about(10.1, by=0.4)}
    softmax = SoftmaxCost("dense", 50_000, 3.0, 0.5)
    assert step_bound(softmax=softmax).names() == ["full-softmax"]
    assert step_bound(softmax=softmax, step=wide).names() == []
    seen = step_bound(softmax=softmax, step=wide, only_observed=True)
    assert seen.names() == ["full-softmax"]  # a part of the very steps that differ
