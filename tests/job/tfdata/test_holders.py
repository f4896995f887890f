"""A closed world of references: whatever is not accounted for is somebody's."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from feedline.job.tfdata.holders import held_by_others


class Thing:
    pass


HOLDERS = {
    "attribute": lambda thing: SimpleNamespace(at=thing),
    "list": lambda thing: SimpleNamespace(at=[1, thing]),
    "nested": lambda thing: SimpleNamespace(at={"a": ([thing],)}),
    "twice": lambda thing: SimpleNamespace(at=thing, again=[thing]),
}
OTHERS = {
    "variable": lambda thing: thing,
    "closure": lambda thing: lambda: thing,
    "method": lambda thing: thing.__repr__,
    "generator": lambda thing: (thing for _ in "ab"),
    "list": lambda thing: [thing],
    "object": lambda thing: SimpleNamespace(at=thing),
}


@given(
    st.lists(st.sampled_from(sorted(HOLDERS)), max_size=4),
    st.lists(st.sampled_from(sorted(OTHERS)), max_size=3),
)
def test_held_exactly_when_anything_but_the_known_holds_it(known, others):
    things = [Thing()]
    by = [HOLDERS[name](things[0]) for name in known]
    elsewhere = [OTHERS[name](things[0]) for name in others]
    assert held_by_others(things, [vars(each) for each in by]) == [bool(elsewhere)]


def test_a_container_that_the_script_has_too_gives_what_it_holds_to_the_script():
    things = [Thing()]
    pair = (things[0], 1)
    holder = SimpleNamespace(at=pair)
    assert held_by_others(things, [vars(holder)]) == [True]
    assert pair
