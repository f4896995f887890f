"""Any style of writing a pipeline, any set of edits: the patched source makes the
calls that the plan means."""

from __future__ import annotations

import builtins
import random
import re
import sys
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedline.fixes.fix import Edit
from feedline.job.tfdata.pipeline import Function, Pipeline, Stage, Where
from feedline.report import patch
from tests.report.repository import repository

__all__ = ["repository"]


class Recorder:
    """Stands for a dataset: remembers the calls and the lines they came from."""

    def __init__(self, calls=()):
        self.calls = calls

    def __getattr__(self, name):
        def method(*args, **kwargs):
            line = sys._getframe(1).f_lineno
            return Recorder((*self.calls, (name, args, kwargs, line)))

        return method


def f(x):
    return x


def g(x):
    return x


def recorded(source):
    """The calls that a source makes on its dataset."""
    fake = SimpleNamespace(data=SimpleNamespace(AUTOTUNE=-1))
    known = {**vars(builtins), "__import__": lambda *_: fake}
    scope = {"f": f, "g": g, "start": Recorder(), "__builtins__": known}
    exec(compile(source, "train.py", "exec"), scope)
    return scope["ds"].calls


LINKS = st.sampled_from(
    ["map(f)", "map(g)", "map(lambda x: x)", "shuffle(9)", "batch(4)", "repeat()"]
)
STYLES = ["line", "brackets", "backslash", "rebind", "hanging", "function", "dangling"]


def written(links, style, random_):
    if style == "line":
        body = "ds = start." + ".".join(links)
    elif style == "brackets":
        lines = [
            f"    .{one}{random_.choice(['', f'  # c{n}'])}"
            for n, one in enumerate(links)
        ]
        body = "ds = (\n    start\n" + "\n".join(lines) + "\n)"
    elif style == "backslash":
        body = "ds = start \\\n    ." + " \\\n    .".join(links)
    elif style == "hanging":
        opened = [
            one.replace("(", "(\n    ", 1) if one[-2] != "(" else one for one in links
        ]
        body = "ds = start." + ".".join(
            one[:-1] + random_.choice([",\n)", "\n)"]) if "\n" in one else one
            for one in opened
        )
    elif style == "dangling":
        body = "ds = (start.\n    " + ".\n    ".join(links) + ")"
    elif style == "function":
        body = "def feed(ds):\n\treturn ds." + ".".join(links) + "\nds = feed(start)"
    else:
        body = "ds = start"
        for n, one in enumerate(links):
            again = random_.choice([f"\n# c{n}\nds = ds", "\nds = ds", ""])
            body += (again or ("\nds = ds" if n == 0 else "")) + f".{one}"
    return f"import tensorflow as tf\n# größer\n{body}\n"


def modelled(calls, edits, hows):
    """What the edits mean, on a list."""
    chain = [[n, *call[:2], dict(call[2])] for n, call in enumerate(calls)]

    def place(number):
        return next(n for n, link in enumerate(chain) if link[0] == number)

    for edit, how in zip(edits, hows, strict=True):
        number = edit.stage
        if edit.fix in ("parallel-map", "parallel-batch"):
            chain[place(number)][3]["num_parallel_calls"] = -1
        elif edit.fix == "prefetch":
            chain.append([None, "prefetch", (-1,), {}])
        elif edit.fix == "cache":
            after = place(number) + 1
            if after == len(chain) or chain[after][1] != "cache":
                chain.insert(after, [None, "cache", (), {}])
        elif edit.fix == "shuffle-ids":
            here = place(number)
            moved = False
            while here > 0 and chain[here - 1][1] in ("map", "prefetch"):
                chain[here - 1 : here + 1] = chain[here], chain[here - 1]
                here, moved = here - 1, True
            assert how == ("edit" if moved else "comment")
            continue
        elif edit.fix == "vectorize-map":
            here = after = place(number)
            while after + 1 < len(chain) and chain[after][1] != "batch":
                after += 1
                if chain[after][1] not in ("shuffle", "repeat", "prefetch", "batch"):
                    break
            passes = chain[after][1] == "batch"
            assert how == ("edit" if passes else "comment")
            if passes:
                link = chain.pop(here)
                link[2] = (lambda: None, *link[2][1:])
                link[3]["num_parallel_calls"] = -1
                chain.insert(after, link)
            continue
        assert how == "edit", edit
    return [tuple(link[1:]) for link in chain]


def plain(calls):
    def value(one):
        return getattr(one, "__name__", one)

    return [
        (name, tuple(map(value, args)), dict(kwargs)) for name, args, kwargs in calls
    ]


LAW = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
WRITTEN = (
    st.lists(LINKS, min_size=1, max_size=6),
    st.sampled_from(STYLES),
    st.lists(
        st.tuples(st.sampled_from(["parallel", "cache", "move"]), st.integers(0, 5)),
        max_size=5,
    ),
    st.sampled_from([None, 0, 3]),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(0, 99),
)


@LAW
@given(st.tuples(*WRITTEN))
def test_a_patched_source_does_what_the_plan_does(repository, written_so):
    holds(repository, *written_so)


@pytest.mark.slow
@settings(LAW, max_examples=120)
@given(st.tuples(*WRITTEN))
def test_many_more_patched_sources_do_what_the_plan_does(repository, written_so):
    holds(repository, *written_so)


def holds(repository, links, style, wishes, prefetch, newline, seed):
    source = written(links, style, random.Random(seed)).replace("\n", newline)
    repository.write(source.encode())
    calls = recorded(source)
    assert [call[0] for call in calls] == [one.split("(")[0] for one in links]
    edits = wanted(links, wishes)
    if prefetch is not None:
        edits.insert(min(prefetch, len(edits)), Edit("prefetch"))
    found = patch.places(pipeline_of(calls, repository.file), edits, None)
    repository.apply(found)
    after = repository.file.read_bytes().decode()
    done = [call[:3] for call in recorded(after)]
    assert plain(done) == plain(modelled(calls, edits, repository.hows()))
    for comment in re.findall(r"# c\d", source):
        assert comment in after
    assert after.count("\r\n") == (after.count("\n") if newline == "\r\n" else 0)


def wanted(links, wishes):
    edits = []
    for kind, number in wishes:
        name = links[number % len(links)].split("(")[0]
        stage = number % len(links)
        if kind == "cache":
            edits.append(Edit("cache", stage, {"on_disk": False}))
        elif kind == "parallel" and name in ("map", "batch"):
            edits.append(Edit(f"parallel-{name}", stage))
        elif kind == "move" and name == "shuffle":
            edits.append(Edit("shuffle-ids", stage))
        elif kind == "move" and name == "map":
            edits.append(Edit("vectorize-map", stage))
    return [edit for n, edit in enumerate(edits) if edit not in edits[:n]]


def pipeline_of(calls, file):
    stage = Stage("range", where=None)
    for name, args, _, line in calls:
        functions = [
            Function(one.__name__.strip("<>")) for one in args if callable(one)
        ]
        values = {"buffer_size": 9} if name == "shuffle" else {}
        stage = Stage(
            name, (stage,), values, tuple(functions), where=Where(str(file), line)
        )
    pipeline = Pipeline(stage).numbered()
    # The source has number 0 there, the first call has it in the test.
    stages = list(pipeline.stages())
    for one in stages:
        object.__setattr__(one, "number", one.number - 1)
    return pipeline
