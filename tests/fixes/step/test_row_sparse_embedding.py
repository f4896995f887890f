"""The fix row-sparse-embedding: what it proposes, and what its edit changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fixes.build import (
    LAYER,
    TABLE,
    looked,
    one,
    proposed,
)


@pytest.mark.parametrize(
    ("optimizer", "grade"),
    [("SGD", "exact"), ("Adagrad", "exact"), ("Adam", "numeric")],
)
def test_rows_that_no_batch_touches(optimizer, grade):
    table = replace(TABLE, optimizer=optimizer)
    case = looked(tables=(table,), job={"layers": (LAYER,)})
    proposal = one("row-sparse-embedding", case)
    assert proposal.grade == grade
    assert proposal.edit.args == {"lazy": grade == "numeric"}
    assert proposal.step_ms == pytest.approx(2.5)


def test_a_table_that_costs_nothing_more():
    cheap = replace(TABLE, update=0.5)
    case = looked(tables=(cheap,), job={"layers": (LAYER,)})
    assert proposed("row-sparse-embedding", case) == []
