"""The fix larger-batch: what it advises, with the curve that was measured."""

from __future__ import annotations

from feedline import fixes
from tests.fixes.build import looked, one, proposed


def test_a_larger_batch_is_advised_and_never_applied():
    curve = ((32, 10.0), (64, 11.0), (128, 13.0))
    proposal = one("larger-batch", looked(step={"curve": curve}))
    assert proposal.grade == "advice"
    assert proposal.edit.args == {"batch_size": 128}
    assert "128: 13.0 ms" in proposal.note
    fix = fixes.all()["larger-batch"]
    assert (fix.apply, fix.install) == (None, None)
    assert fix.least(proposal.edit) == "advice"
    assert proposed("larger-batch", looked()) == []
