"""Plans by hand: a script under test tells what it is made of, and a plan is made for
that, as if it had been measured."""

from __future__ import annotations

import json

from feedline.fixes.binding import Binding
from feedline.fixes.fix import Edit
from feedline.fixes.identity.part import Part
from feedline.fixes.saved import SavedPlan

TELL = """\
def tell_bound(dataset, **loop):
    import json
    from types import SimpleNamespace
    from feedline.prove.bound import bound
    from feedline.fixes.identity.step import step_of
    from feedline.job.tfdata.pipeline import Where
    from feedline.job.tfdata.read import read
    facts = dict(where=None, model=None, strategy=None, callbacks=())
    facts.update(step_code=None, step_function=None)
    if "line" in loop:
        loop["where"] = Where(__file__, loop.pop("line"))
    step = step_of(SimpleNamespace(**facts | loop)) if loop else None
    print("mark", json.dumps(bound(read(dataset).numbered(), step).to_list()))

"""


def plan_for(told: str, *edits: Edit, where: str = "") -> SavedPlan:
    """For the job that `tell_bound` told of, in this line of its output."""
    made_for = Binding.from_list(json.loads(told.removeprefix("mark ")))
    return SavedPlan(where, made_for.pipeline, edits, made_for=made_for)


def somewhere(*edits: Edit, where: str = "train.py:3") -> SavedPlan:
    """A plan for a job of which nothing more is asked."""
    names = ("pipeline", "step", "versions", "machine")
    made_for = Binding(tuple(Part(name, f"the {name}") for name in names))
    return SavedPlan(where, made_for.pipeline, edits, made_for=made_for)
