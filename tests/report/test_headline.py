"""The first sentence agrees with the bar under it, whatever was measured."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedline import causes
from feedline.measure.measurement import Estimate
from feedline.report.build import make
from feedline.report.format import percent
from tests.causes.test_laws import JOBS, MEASUREMENTS

SHARE = st.floats(0.0, 1.0)
WORDS = {
    "input": "waits for input",
    "transfer": "Copying batches",
    "overhead": "Starting the step",
    "compute": "computes",
}


@st.composite
def measured(draw):
    """A step as `measure` takes it apart: each way of running it is no slower than
    the one before."""
    made = draw(MEASUREMENTS)
    observed = draw(st.floats(0.5, 500.0))
    host_fed = observed * draw(SHARE)
    ceiling = host_fed * draw(SHARE)
    step = replace(
        made.step,
        observed=_exactly(observed),
        host_fed=_exactly(host_fed),
        ceiling=_exactly(ceiling),
        overhead=ceiling * draw(SHARE),
        epoch_start=0.0,
    )
    return replace(made, step=step)


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value, 9)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(JOBS, measured())
def test_the_first_share_that_is_said_is_the_largest(job, measurement):
    findings = causes.diagnose(job, measurement)
    titles = {name: cause.title for name, cause in causes.all().items()}
    report = make(
        job, measurement, findings, titles, script="s", version="1", seconds=1.0
    )
    if findings and findings[0].cause in ("slow-preparation", "slow-validation"):
        return
    first = report.verdict.partition(" %")[0]
    said = [part for part, words in WORDS.items() if words in report.verdict]
    assert report.bound in said
    assert first.endswith(percent(report.shares[report.bound]).partition(" ")[0])
