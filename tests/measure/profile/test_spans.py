"""Spans against the same arithmetic done moment by moment; the division's laws."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from feedline.measure.profile.attribute import divide
from feedline.measure.profile.kinds import KINDS
from feedline.measure.profile.spans import (
    common,
    covers,
    joined,
    parents,
    total,
    union,
    within,
    without,
)

END = 40
_events = st.lists(
    st.tuples(st.integers(0, END), st.integers(0, END)).map(sorted), max_size=8
)


def spans(events):
    rows = np.array(events, np.int64).reshape(-1, 2)
    return union(rows[:, 0], rows[:, 1])


def moments(rows):
    """Which unit moments are covered: the slow, plain way."""
    return {m for a, b in rows for m in range(a, b)}


@given(_events)
def test_union_is_sorted_disjoint_and_covers_the_same(events):
    made = spans(events)
    assert moments(made.tolist()) == moments(events)
    assert (made[:, 1] > made[:, 0]).all()
    assert (made[1:, 0] > made[:-1, 1]).all()


@given(_events, _events)
def test_common_and_without(one, other):
    a, b = spans(one), spans(other)
    assert moments(common(a, b).tolist()) == moments(one) & moments(other)
    assert moments(without(a, b).tolist()) == moments(one) - moments(other)
    assert moments(joined(a, b).tolist()) == moments(one) | moments(other)
    assert total(common(a, b)) + total(without(a, b)) == total(a)


@given(_events, _events)
def test_within_counts_each_window(events, windows):
    rows = np.array(windows, np.int64).reshape(-1, 2)
    expected = [len(moments(events) & moments([w])) for w in windows]
    assert within(spans(events), rows).tolist() == expected


@given(_events)
def test_covers(events):
    every = np.arange(END, dtype=np.int64)
    assert set(every[covers(spans(events), every)].tolist()) == moments(events)


@given(st.lists(st.tuples(st.sampled_from(list(KINDS)), _events), max_size=6), _events)
def test_every_instant_has_one_owner_and_the_parts_make_up_all(layers, windows):
    window = spans(windows)
    parts = divide([(kind, spans(events)) for kind, events in layers], window)
    assert list(parts) == list(KINDS)
    assert sum(total(each) for each in parts.values()) == total(window)
    assert total(joined(*parts.values())) == total(window)
    owned = set()
    for kind, events in layers:
        mine = (moments(events) & moments(windows)) - owned
        assert mine <= moments(parts[kind].tolist())
        owned |= mine


def test_parents_are_the_innermost_events_around():
    start = np.array([0, 1, 2, 5, 8, 10], np.int64)
    end = np.array([9, 4, 3, 8, 9, 12], np.int64)
    order, above = parents(start, end)
    assert order.tolist() == [0, 1, 2, 3, 4, 5]
    assert above.tolist() == [-1, 0, 1, 0, 0, -1]
