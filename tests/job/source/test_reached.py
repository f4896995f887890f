"""What a function can reach, and that nobody asks the collector who holds what."""

import ast
from pathlib import Path

import feedline
from feedline.job.source.reached import reached_from

GLOBAL = object()
UNUSED = object()


def test_what_it_closes_over_its_object_its_defaults_and_the_globals_it_names():
    class Rows:
        def __init__(self):
            self.inner = {"deep": [kept]}

        def read(self, _=default_of):
            return GLOBAL

    kept, default = object(), default_of
    found = {id(each) for each in reached_from(Rows().read)}
    assert {id(kept), id(default), id(GLOBAL)} <= found
    assert id(UNUSED) not in found


def default_of():
    """Something to be a default."""


def test_names_in_a_function_inside_are_followed():
    assert any(each is GLOBAL for each in reached_from(lambda: [GLOBAL for _ in "a"]))


def test_only_code_objects_are_looked_for_among_all_objects():
    """`gc.get_objects` and `gc.get_referrers` touch objects that other threads are
    taking down. What is still looked for that way: the one function of a code."""
    home = Path(feedline.__file__).parent
    found = {
        path.relative_to(home).as_posix()
        for path in home.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in {"get_objects", "get_referrers"}
    }
    assert found == {
        "fixes/identity/step.py",
        "fixes/means/own_step/graph_step.py",
    }
