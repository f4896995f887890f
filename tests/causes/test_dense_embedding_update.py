"""The cause dense-embedding-update: a job with the fault, and the same without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from feedline.measure.measurement import (
    TableCost,
)
from tests.causes.build import (
    step_bound,
)

TABLE = TableCost("embedding", 200_000, 100, 2_500, "Adam", 93.0, 3.0)


def test_dense_embedding_update():
    """The table's update takes as long for any batch; the size of the batch is
    not to blame for that."""
    slow = step_bound(
        observed=101.0,
        ceiling=100.0,
        tables=(TABLE,),
        step={"overhead": 5.0, "curve": ((32, 100.0), (64, 101.0), (512, 108.0))},
    )
    assert slow.names() == ["dense-embedding-update"]
    assert slow.findings()[0].cost_ms == pytest.approx(90.0)
    assert "200,000 rows" in slow.findings()[0].evidence
    small = replace(TABLE, rows=1_000, update=3.1)
    assert step_bound(observed=101.0, ceiling=100.0, tables=(small,)).names() == []
