"""Plans in files: they come back as they were, and damaged ones are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.binding import Binding
from feedline.fixes.fix import Edit
from feedline.fixes.identity.part import Part
from feedline.fixes.identity.stages import parts
from feedline.fixes.saved import PlanError, SavedPlan, load, save
from feedline.job.tfdata.pipeline import TensorSpec
from feedline.report.json import to_json
from feedline.report.plans import load as load_whole
from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import looked_at, of_function
from tests.place import LIMIT
from tests.plans import somewhere
from tests.report.samples import sample

PLAN = somewhere(
    Edit("cache", 1, {"on_disk": False}), Edit("prefetch"), where="train.py:12"
)


@st.composite
def edits(draw):
    """Any that a plan may hold."""
    fix = draw(st.sampled_from(list(fixes.all().values())))
    stage = draw(st.integers(0, 99)) if fix.takes.stage else None
    args = {
        name: draw(values(arg))
        for name, arg in (fix.takes.args or {}).items()
        if arg.needed or draw(st.booleans())
    }
    return Edit(fix.name, stage, args)


def values(arg):
    if arg.kind is bool:
        return st.booleans()
    if arg.kind is int:
        return st.integers(arg.least, arg.most)
    return st.sampled_from(arg.among or ("GPU:0",))


facts = st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=3)


@st.composite
def plans(draw):
    names = ("pipeline", "step", "versions", "machine", "stage 0")
    made_for = Binding(
        tuple(Part(name, draw(st.text(max_size=5)), draw(facts)) for name in names)
    )
    some = tuple(draw(st.lists(edits(), max_size=3)))
    where = draw(st.text(max_size=9))
    report = draw(st.none() | st.just(REPORT))
    return SavedPlan(where, made_for.pipeline, some, report, made_for=made_for)


REPORT = json.loads(to_json(sample()))


@given(plans())
def test_a_plan_comes_back_as_it_was(plan):
    assert SavedPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


@given(plans(), plans())
def test_a_plan_comes_back_with_that_of_its_validation(plan, inner):
    whole = replace(plan, validation=inner)
    assert SavedPlan.from_dict(json.loads(json.dumps(whole.to_dict()))) == whole
    assert "validation" not in plan.to_dict()
    deeper = replace(plan, validation=whole).to_dict()
    with pytest.raises(PlanError, match="a validation of its own"):
        SavedPlan.from_dict(deeper)


def test_what_is_not_allowed_is_refused_in_the_validations_plan_too():
    inner = somewhere(Edit("unordered"), where="validation of train.py:12")
    with pytest.raises(PlanError, match="--allow reordered"):
        replace(PLAN, validation=inner).check_grades(("exact",))


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
    for name in ("where", "pipeline", "edits", "report", "made_for", "places"):
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
    assert "Remove the file to measure again" in str(refusal.value)
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


def test_a_plan_of_an_older_feedline_is_refused_by_name(tmp_path):
    old = PLAN.to_dict()
    del old["made_for"]
    path = tmp_path / "train.plan"
    path.write_text(json.dumps(old), encoding="utf-8")
    with pytest.raises(PlanError, match="of an older feedline"):
        load(path)


@pytest.mark.parametrize(
    ("where", "value", "named"),
    [
        (("edits", 0, "args", "on_disk"), 1, "args.on_disk must be true or false"),
        (("edits", 0, "args", "depth"), 1, "args has 'depth'"),
        (("edits", 0, "stage"), None, "stage must be the number of a stage"),
        (("edits", 0, "stage"), -1, "not -1"),
        (("edits", 0, "stage"), 1.0, "not 1.0"),
        (("edits", 0, "stage"), True, "not True"),
        (("edits", 1, "stage"), 2, "stage must be null, not 2"),
        (("made_for", 0, "facts"), [], "facts must be an object"),
        (("made_for", 0, "facts", "options"), 4, "facts.options must be a text"),
        (("pipeline",), "ffff", "'ffff' is not that of made_for"),
        (("made_for",), [], "made_for has no part 'pipeline'"),
        (("places",), [{"edit": {"fix": "cache"}}], "places[0]"),
        (("report", "bound"), "luck", "report.bound must be one of"),
        (("report", "step"), None, "report.step"),
        (("more",), 1, "it has 'more'"),
    ],
)
def test_a_refusal_names_the_field_and_its_value(tmp_path, where, value, named):
    data = replace(PLAN, report=REPORT).to_dict()
    data = json.loads(json.dumps(data))
    at = data
    for step in where[:-1]:
        at = at[step]
    at[where[-1]] = value
    path = tmp_path / "train.plan"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(PlanError) as refusal:
        load_whole(path)
    assert named in str(refusal.value)
    assert refusal.value.exit_code == 2


# -------------------------------------------------------- plans damaged at random

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([10**400, -1, 1e999, "exact", "prefetch", "\ud800", 0.0, 2**63]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def places_in(data, so_far=()):
    """Every place in the data that can be damaged."""
    yield so_far
    children = ()
    if isinstance(data, dict):
        children = data.items()
    elif isinstance(data, list):
        children = enumerate(data)
    for name, value in children:
        yield from places_in(value, (*so_far, name))


def damage(data, where, how, value):
    """The same with one place dropped, changed, added to, or nested deep."""
    if not where:
        return value if how == "change" else {**data, "more": value}
    copy = json.loads(json.dumps(data))
    at = copy
    for step in where[:-1]:
        at = at[step]
    if how == "drop":
        del at[where[-1]]
    elif how == "add" and isinstance(at[where[-1]], dict):
        at[where[-1]]["more"] = value
    elif how == "add" and isinstance(at[where[-1]], list):
        at[where[-1]].append(value)
    elif how == "deep":
        for _ in range(300):
            value = [value]
        at[where[-1]] = value
    else:
        at[where[-1]] = value
    return copy


@st.composite
def damaged_plans(draw):
    data = json.loads(json.dumps(draw(plans()).to_dict()))
    for _ in range(draw(st.integers(1, 3))):
        if not isinstance(data, dict):
            break
        where = draw(st.sampled_from(list(places_in(data))))
        how = draw(st.sampled_from(["drop", "change", "add", "deep"]))
        data = damage(data, where, how, draw(ANYTHING))
    content = json.dumps(data).encode("utf-8", "surrogatepass")
    if draw(st.booleans()) and draw(st.booleans()):
        place = draw(st.integers(0, len(content)))
        content = content[:place] + draw(st.binary(max_size=3)) + content[place + 1 :]
    return content


def refused_or_as_written(path, content):
    path.write_bytes(content)
    plan, refusal = None, ""
    try:
        plan = load_whole(path)
    except PlanError as error:
        refusal = str(error)
    assert len(refusal) < 2_000
    if plan is not None:
        written = json.dumps(json.loads(content), sort_keys=True)
        assert json.dumps(plan.to_dict(), sort_keys=True) == written


@given(damaged_plans())
@settings(max_examples=150)
def test_a_plan_damaged_at_random(tmp_path_factory, content):
    refused_or_as_written(tmp_path_factory.getbasetemp() / "fuzz.plan", content)


@pytest.mark.slow
@given(damaged_plans())
@settings(max_examples=5_000)
def test_many_plans_damaged_at_random(tmp_path_factory, content):
    refused_or_as_written(tmp_path_factory.getbasetemp() / "fuzz.plan", content)


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
        (Edit("larger-batch", None, {"batch_size": 8}), "advice"),
        (Edit("cache", 1, {}), "exact"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.fix,
)
def test_an_edit_is_no_better_than_it_can_be_whatever_the_file_says(edit, grade):
    data = replace(PLAN, edits=(edit,), grades=()).to_dict()
    assert SavedPlan.from_dict(data).grades == (grade,)
    if grade != "exact":
        data["edits"][0]["grade"] = "exact"
        with pytest.raises(PlanError, match=f"is {grade} at best"):
            SavedPlan.from_dict(data)


def test_what_is_not_allowed_is_refused_by_name():
    NUMERIC.check_grades(("exact", "numeric"))
    PLAN.check_grades(("exact",))
    with pytest.raises(PlanError) as refusal:
        NUMERIC.check_grades(("exact", "reordered"))
    for word in ("jit-compile", "numeric", "--allow numeric", "remove"):
        assert word in str(refusal.value)
    person = somewhere(Edit("larger-batch", None, {"batch_size": 8}))
    with pytest.raises(PlanError, match="needs a person"):
        person.check_grades(("exact", "reordered", "numeric"))


def test_every_fix_promises_no_better_than_its_least():
    """What `propose` says and what a plan may claim are the same file's business."""
    for fix in fixes.all().values():
        assert fix.least(Edit(fix.name)) in fixes.GRADES


# -------------------------------------------------------------- the fingerprint

LOAD = part("map", 5.0, name="load", ops=("MatMul", "Sin"))
BASE = (SLICES, LOAD, part("shuffle", buffer_size=9), BATCH)


def fingerprint(pipeline):
    return Binding(tuple(parts(pipeline))).pipeline


def mark(*stages, **changes):
    pipeline = looked_at(*(stages or BASE)).pipeline
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

    from feedline.job.tfdata.read import read

    def made(buffer=5, factor=2.0, shape=(3,), batch=4):
        data = tf.data.Dataset.from_tensor_slices(tf.zeros([9, *shape]))
        data = data.map(lambda x: x * factor if factor else tf.sin(x))
        return fingerprint(read(data.shuffle(buffer, seed=3).batch(batch)).numbered())

    assert made() == made()
    others = [made(buffer=6), made(factor=0), made(shape=(4,)), made(batch=5)]
    assert len({made(), *others}) == 5
