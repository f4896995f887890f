"""The fix prefetch-to-device: what it proposes, and what its edit changes."""

from __future__ import annotations

from tests.causes.build import ACCELERATED, BATCH, SLICES, part
from tests.fixes.build import applied, looked_at, one, proposed


def test_batches_are_copied_ahead_of_the_step():
    waits = {"machine": ACCELERATED, "host_fed": 30.0}
    case = looked_at(SLICES, BATCH, **waits)
    proposal = one("prefetch-to-device", case)
    assert (proposal.edit.args, proposal.grade) == ({"device": "GPU:0"}, "exact")
    changed = applied(case, proposal).root
    assert [changed.op, changed.inputs[0].op] == ["prefetch", "copy_to_device"]
    assert changed.inputs[0].args == {"target_device": "/GPU:0"}
    copied = part("copy_to_device", target_device="/GPU:0")
    for other in (
        looked_at(SLICES, BATCH, host_fed=30.0),
        looked_at(SLICES, BATCH, machine=ACCELERATED),
        looked_at(SLICES, BATCH, copied, **waits),
    ):
        assert proposed("prefetch-to-device", other) == []
