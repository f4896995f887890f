"""Planted jobs: `feedline why` must name what was planted, and nothing cured."""

from __future__ import annotations

import pytest

from tests.verdicts import tier
from tests.verdicts.conftest import JOBS
from tests.verdicts.truth import NoVerdict, Truth, ask, contradictions, truths

PLANTED = truths(JOBS)
SECONDS = 20


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("truth", PLANTED, ids=lambda truth: truth.name)
def test_verdict(truth: Truth, tmp_path, request):
    try:
        verdict = ask(truth.script, tmp_path, SECONDS)
    except NoVerdict as reason:
        tier.note(request.config, truth, None)
        pytest.fail(str(reason), pytrace=False)
    tier.note(request.config, truth, verdict)
    wrong = contradictions(truth, verdict)
    assert not wrong, f"{truth.name}: {'; '.join(wrong)}\n\n{verdict.text}"


def test_every_cure_has_its_fault():
    faults = {cause for truth in PLANTED for cause in truth.causes + truth.named}
    assert {cause for truth in PLANTED for cause in truth.cured} <= faults
