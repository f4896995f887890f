"""The cause eager-step: a job with the fault, and the same without it."""

from __future__ import annotations

import pytest

from tests.causes.build import (
    about,
    step_bound,
)


def test_eager_step():
    tried = step_bound(job={"eager": True}, what_if={"step:compiled": about(2.0)})
    assert tried.names() == ["eager-step"]
    assert tried.findings()[0].cost_ms == pytest.approx(8.0)
    alone = step_bound(job={"eager": True}, step={"overhead": 9.0})
    assert alone.names() == ["eager-step"]
    assert "eager-step" not in step_bound(step={"overhead": 9.0}).names()
