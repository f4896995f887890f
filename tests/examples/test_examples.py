"""`feedline why` must say of every example what its docstring says."""

from __future__ import annotations

import pytest

from tests.examples.conftest import EXAMPLES
from tests.verdicts import tier
from tests.verdicts.truth import NoVerdict, Truth, ask, contradictions, truths

STATED = truths(EXAMPLES)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("truth", STATED, ids=lambda truth: truth.name)
def test_example(truth: Truth, tmp_path, request):
    try:
        verdict = ask(truth.script, tmp_path)
    except NoVerdict as reason:
        tier.note(request.config, truth, None)
        pytest.fail(str(reason), pytrace=False)
    tier.note(request.config, truth, verdict)
    wrong = contradictions(truth, verdict)
    assert not wrong, f"{truth.name}: {'; '.join(wrong)}\n\n{verdict.text}"


def test_every_example_states_its_cause_and_its_bound():
    helpers = {"make_data"}
    scripts = {path.stem for path in EXAMPLES.glob("*.py")} - helpers
    assert {truth.name for truth in STATED if truth.bounds} == scripts
