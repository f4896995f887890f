"""The turns of a step as Python runs it and as a graph."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline.session.live.turns import Turns

seconds = st.floats(1e-4, 0.3)


def taken(eager_s, graph_s):
    """All turns of a training whose steps take so long."""
    turns, order = Turns(), []
    while (turn := turns.next(eager_s)) is not None:
        if turn.calls == 0:
            order.append(turn.graph)
        turn.calls += 1
        each = graph_s if turn.graph else eager_s
        turn.inside.append(each / 2)
        turns.note_period(each)
    return turns, order


@given(seconds, seconds)
def test_both_have_as_many_turns_and_the_gain_is_their_ratio(eager_s, graph_s):
    turns, order = taken(eager_s, graph_s)
    assert order.count(True) == order.count(False) == turns.rounds
    found = turns.result()
    assert found.gain.value == pytest.approx(eager_s / graph_s, rel=1e-6)
    assert found.before.value == pytest.approx(1e3 * eager_s)
    assert turns.inside[True][0] == pytest.approx(graph_s / 2)


def test_who_goes_first_changes_from_pair_to_pair():
    _, order = taken(0.1, 0.1)
    pairs = list(zip(order[::2], order[1::2], strict=True))
    assert pairs[:2] == [(False, True), (True, False)]
