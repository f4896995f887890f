"""Plans in files: they come back as they were, and damaged ones are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import Edit
from feedline.fixes.plan import fingerprint
from feedline.fixes.saved import PlanError, SavedPlan, load, save
from feedline.job.pipeline import TensorSpec
from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import looked_at, of_function
from tests.place import LIMIT

PLAN = SavedPlan(
    "train.py:12",
    "0123abcd",
    (Edit("cache", 1, {"on_disk": False}), Edit("prefetch")),
    {"schema": 1},
)

edits = st.builds(
    Edit,
    st.sampled_from(sorted(fixes.all())),
    st.none() | st.integers(0, 99),
    st.dictionaries(
        st.text(max_size=5), st.booleans() | st.integers() | st.text(max_size=5)
    ),
)


@given(st.text(), st.text(), st.lists(edits, max_size=4).map(tuple))
def test_a_plan_comes_back_as_it_was(where, mark, some):
    plan = SavedPlan(where, mark, some, None)
    assert SavedPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_a_plan_in_a_file(tmp_path):
    path = tmp_path / "train.plan"
    save(PLAN, path)
    assert load(path) == PLAN
    save(replace(PLAN, edits=(), grades=()), path)
    assert load(path).edits == ()
    assert [each.name for each in tmp_path.iterdir()] == ["train.plan"]


def test_a_plan_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(FeedlineError, match="cannot write"):
        save(PLAN, tmp_path / "no" / "train.plan")
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(FeedlineError, match="cannot write"):
        save(PLAN, target)
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def damaged():
    good = PLAN.to_dict()
    edit = good["edits"][0]
    yield "empty", b""
    yield "no JSON", b"import os"
    yield "cut short", json.dumps(good).encode()[:-9]
    yield "no text", b"\xff\xfe\x00"
    yield "a list", b"[]"
    yield "another file", b'{"schema": 1}'
    yield "a later schema", json.dumps({**good, "feedline_plan": 2}).encode()
    for name in ("where", "pipeline", "edits", "report"):
        less = {key: value for key, value in good.items() if key != name}
        yield f"no {name}", json.dumps(less).encode()
    for what, bad in (
        ("no number", {**edit, "stage": "first"}),
        ("no whole number", {**edit, "stage": [1]}),
        ("endless number", {**edit, "stage": float("inf")}),
        ("no arguments", {**edit, "args": 5}),
        ("an unknown fix", {**edit, "fix": "rm -rf"}),
        ("a module that is no fix", {**edit, "fix": "plan"}),
        ("text", "cache"),
        ("nothing", None),
    ):
        yield f"edit: {what}", json.dumps({**good, "edits": [bad]}).encode()
    yield "edits that are none", json.dumps({**good, "edits": 7}).encode()
    yield "deep", b'{"feedline_plan": 1, "edits": ' + b"[" * 200_000
    report = {**good, "report": "a sentence"}
    yield "report that is none", json.dumps(report).encode()
    trial = {**edit, "args": {"trial": 4}}
    wrong = {**edit, "grade": "perfect"}
    yield "an unknown grade", json.dumps({**good, "edits": [wrong]}).encode()
    yield "a trial's cache", json.dumps({**good, "edits": [trial]}).encode()


@pytest.mark.parametrize(
    "content", [pytest.param(content, id=name) for name, content in damaged()]
)
def test_a_damaged_plan_is_refused_in_one_sentence(tmp_path, content):
    path = tmp_path / "train.plan"
    path.write_bytes(content)
    with pytest.raises(PlanError) as refusal:
        load(path)
    assert "train.plan" in str(refusal.value)
    assert "Remove the file to measure anew" in str(refusal.value)
    assert len(str(refusal.value)) < 400
    assert refusal.value.exit_code == 2


@given(st.binary(max_size=300))
def test_any_bytes_give_a_plan_or_a_refusal(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.plan"
    path.write_bytes(content)
    with pytest.raises(PlanError):
        load(path)


def test_a_plan_that_is_not_there_or_no_file(tmp_path):
    endless = tmp_path / "pipe.plan"
    os.mkfifo(endless)
    for path in (tmp_path / "none.plan", tmp_path, endless):
        with pytest.raises(PlanError, match="cannot read the plan"):
            load(path)


# ------------------------------------------------------------------- its grades


NUMERIC = replace(PLAN, edits=(Edit("prefetch"), Edit("jit-compile")), grades=())


def test_a_plan_keeps_the_grades_that_were_found(tmp_path):
    path = tmp_path / "train.plan"
    found = replace(PLAN, grades=("exact", "numeric"))
    save(found, path)
    assert load(path).grades == ("exact", "numeric")


@pytest.mark.parametrize(
    ("edit", "grade"),
    [
        (Edit("jit-compile"), "numeric"),
        (Edit("unordered"), "reordered"),
        (Edit("interleave", 1, {"way": "mixed"}), "reordered"),
        (Edit("interleave", 1, {"way": "ahead"}), "exact"),
        (Edit("row-sparse-embedding", None, {"lazy": True}), "numeric"),
        (Edit("row-sparse-embedding", None, {"lazy": False}), "exact"),
        (Edit("larger-batch"), "advice"),
        (Edit("cache", 1, {}), "exact"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.fix,
)
def test_an_edit_is_no_better_than_it_can_be_whatever_the_file_says(edit, grade):
    data = replace(PLAN, edits=(edit,), grades=()).to_dict()
    assert SavedPlan.from_dict(data).grades == (grade,)
    data["edits"][0]["grade"] = "exact"
    assert SavedPlan.from_dict(data).grades == (grade,)
    del data["edits"][0]["grade"]  # as plans had none
    assert SavedPlan.from_dict(data).grades == (grade,)


def test_what_is_not_allowed_is_refused_by_name():
    NUMERIC.check_grades(("exact", "numeric"))
    PLAN.check_grades(("exact",))
    with pytest.raises(PlanError) as refusal:
        NUMERIC.check_grades(("exact", "reordered"))
    for word in ("jit-compile", "numeric", "--allow numeric", "remove"):
        assert word in str(refusal.value)
    person = replace(PLAN, edits=(Edit("larger-batch"),), grades=())
    with pytest.raises(PlanError, match="needs a person"):
        person.check_grades(("exact", "reordered", "numeric"))


def test_every_fix_promises_no_better_than_its_least():
    """What `propose` says and what a plan may claim are the same file's business."""
    for fix in fixes.all().values():
        assert fix.least(Edit(fix.name)) in fixes.GRADES


# -------------------------------------------------------------- the fingerprint

LOAD = part("map", 5.0, name="load", ops=("MatMul", "Sin"))
BASE = (SLICES, LOAD, part("shuffle", buffer_size=9), BATCH)


def mark(*parts, **changes):
    pipeline = looked_at(*(parts or BASE)).pipeline
    return fingerprint(replace(pipeline, **changes))


def altered(place, **changes):
    return [
        replace(each, stage=replace(each.stage, **changes)) if n == place else each
        for n, each in enumerate(BASE)
    ]


def changes():
    files = [f"{n}.tfrecord" for n in range(20)]
    wide = (TensorSpec("float32", (4,)),)
    yield "an argument", mark(*altered(2, args={"buffer_size": 10}))
    yield "an argument more", mark(*altered(2, args={"buffer_size": 9, "seed": 1}))
    yield "files", mark(*altered(0, args={"filenames": files}))
    yield "another file", mark(*altered(0, args={"filenames": [*files[:-1], "x"]}))
    yield "a function's name", mark(SLICES, of_function(LOAD, name="other"), *BASE[2:])
    more = {"MatMul": 2, "Sin": 1}
    yield "a function's work", mark(SLICES, of_function(LOAD, ops=more), *BASE[2:])
    yield "elements", mark(*altered(3, spec=wide))
    yield "a shape", mark(*altered(3, spec=(TensorSpec("float32", (None,)),)))
    yield "a stage less", mark(SLICES, LOAD, BATCH)
    yield "a stage more", mark(*BASE, part("prefetch", buffer_size=-1))
    yield "the order", mark(SLICES, BASE[2], LOAD, BATCH)
    yield "an option", mark(options={"deterministic": False})


def test_any_change_of_the_pipeline_shows():
    marks = {"": mark(), **dict(changes())}
    assert len(set(marks.values())) == len(marks)


def test_what_is_not_the_pipeline_does_not_show():
    assert mark() == mark()
    slower = part("map", 500.0, name="load", ops=("Sin", "MatMul"))
    assert mark(SLICES, slower, *BASE[2:]) == mark()  # nor the order of a dict


def test_it_is_the_same_in_every_process():
    program = (
        "from tests.fixes.test_saved import mark, changes; print(mark(), "
        "*dict(changes()).values())"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
            },
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
            timeout=LIMIT,
        ).stdout
        for seed in ("1", "2")
    }
    assert told == {" ".join([mark(), *dict(changes()).values()]) + "\n"}


@pytest.mark.tensorflow
def test_a_pipeline_that_was_read_keeps_its_mark_and_shows_its_changes():
    import tensorflow as tf

    from feedline.job.read import read

    def made(buffer=5, factor=2.0, shape=(3,), batch=4):
        data = tf.data.Dataset.from_tensor_slices(tf.zeros([9, *shape]))
        data = data.map(lambda x: x * factor if factor else tf.sin(x))
        return fingerprint(read(data.shuffle(buffer, seed=3).batch(batch)).numbered())

    assert made() == made()
    others = [made(buffer=6), made(factor=0), made(shape=(4,)), made(batch=5)]
    assert len({made(), *others}) == 5
