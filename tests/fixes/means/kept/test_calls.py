"""Functions whose results are kept: the same results, only in scope, only while what
they depend on is the same."""

from __future__ import annotations

import os
import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.fixes.means.kept.calls import Kept
from feedline.fixes.means.kept.memory import Memory
from feedline.fixes.means.kept.scope import Scope
from feedline.fixes.means.kept.values import CannotKeep, copied, key_of

SIZE = 3
TABLE = [1, 2]
find = {1: 2}.get


def parsed(line, scale=1.0):
    numbers = np.array([float(each) for each in line.split(",")])
    return numbers * scale, len(numbers)


def sized(number):
    return np.full(SIZE, number)


def looked_up(number):
    return TABLE[number]


def counted(number):
    return np.arange(number)


class Reader:
    def __init__(self, folder):
        self.folder = folder

    def read(self, name):
        with open(f"{self.folder}/{name}") as file:
            return file.read()


def _in_scope(function, memory=None, **more):
    kept = Kept(function, memory or Memory(10**6), **more)
    return kept, Scope([kept])


def test_a_second_call_is_not_made_and_gives_a_copy():
    kept, scope = _in_scope(counted)
    with scope:
        first = counted(4)
        first[:] = 9
        again = counted(4)
    assert again.tolist() == [0, 1, 2, 3]
    assert (kept.memory.found, kept.memory.made) == (1, 1)


def test_outside_of_the_scope_the_function_is_its_own():
    code = counted.__code__
    kept, scope = _in_scope(counted)
    with scope:
        counted(4)
        assert counted.__code__ is not code
    assert counted.__code__ is code
    counted(4)
    assert kept.memory.made == 1


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=5),
            st.sampled_from([1, 1.0, 2.0, True, -0.0, 0.0]),
        ),
        max_size=30,
    ),
    st.integers(0, 3000),
)
def test_kept_or_not_the_results_are_the_same(calls, most):
    _, scope = _in_scope(parsed, Memory(most))
    for numbers, scale in calls:
        line = ",".join(map(repr, numbers))
        plain, length = parsed(line, scale)
        with scope:
            ours, counted_ = parsed(line, scale=scale)
        assert ours.tobytes() == plain.tobytes()
        assert (ours.dtype, counted_) == (plain.dtype, length)


def test_what_it_raises_is_raised_each_time():
    _, scope = _in_scope(parsed)
    for _ in range(2):
        with scope, pytest.raises(ValueError, match="could not convert string"):
            parsed("a,b")


def test_a_global_number_that_changes_is_part_of_the_question(monkeypatch):
    _, scope = _in_scope(sized)
    with scope:
        assert len(sized(1)) == 3
    monkeypatch.setitem(globals(), "SIZE", 5)
    with scope:
        assert len(sized(1)) == 5


def test_what_can_be_changed_in_its_place_is_not_relied_on():
    with pytest.raises(CannotKeep, match="TABLE, a list that may change"):
        _in_scope(looked_up)


def test_nor_is_a_method_of_such_a_thing():
    def found(number):
        return find(number)

    with pytest.raises(CannotKeep, match="find"):
        _in_scope(found)


def test_a_file_that_changes_is_read_again(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    before = time.time() - 60
    os.utime(path, (before, before))
    reader = Reader(str(tmp_path))
    kept, scope = _in_scope(Reader.read, me=reader, opens=True)
    with scope:
        assert reader.read("a.txt") == reader.read("a.txt") == "old"
    found = kept.memory.found
    path.write_text("new")
    with scope:
        assert reader.read("a.txt") == "new"
    assert kept.memory.found == found


def test_a_file_of_a_moment_ago_is_not_relied_on(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    reader = Reader(str(tmp_path))
    kept, scope = _in_scope(Reader.read, me=reader, opens=True)
    with scope:
        reader.read("a.txt")
        reader.read("a.txt")
    assert (kept.memory.found, kept.memory.made) == (0, 2)


def test_the_objects_attributes_are_part_of_the_question(tmp_path):
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.txt").write_text(name)
        os.utime(folder / "a.txt", (1e9, 1e9))
    reader = Reader(str(tmp_path / "one"))
    _, scope = _in_scope(Reader.read, me=reader, opens=True)
    with scope:
        assert reader.read("a.txt") == "one"
        reader.folder = str(tmp_path / "two")
        assert reader.read("a.txt") == "two"
        assert Reader(str(tmp_path / "one")).read("a.txt") == "one"


def test_the_bound_is_kept():
    memory = Memory(1000)
    _, scope = _in_scope(counted, memory)
    with scope:
        for _ in range(2):
            for number in range(20):
                assert len(counted(number)) == number
    assert 0 < memory.used <= 1000


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=6,
)


@given(_values)
def test_a_copy_is_as_good(value):
    try:
        made = copied(value)[0]
    except CannotKeep:
        return  # something in it stands twice
    assert repr(made) == repr(value)


@pytest.mark.parametrize(
    "value",
    [np.arange(6.0)[::2], np.array([object()]), random.Random(1), {1, 2}],
)
def test_what_a_copy_may_not_be_as_good_for_is_not_kept(value):
    with pytest.raises(CannotKeep):
        copied(value)


def test_a_read_only_array_stays_so():
    value = np.arange(3)
    value.flags.writeable = False
    assert not copied(value)[0].flags.writeable


def test_equal_numbers_of_two_kinds_are_two_questions():
    keys = [key_of(each) for each in (1, 1.0, True, np.int64(1), np.float32(1))]
    assert len(set(keys)) == 5
    assert key_of(0.0) != key_of(-0.0)
