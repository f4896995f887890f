"""The op table: it is whole, it needs no TensorFlow, and it is the only one."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import feedline
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import By, Fact, names
from feedline.job.tfdata.pipeline import Stage

SOURCE = Path(feedline.__file__).parent

# Words that are also the name of an op, and what they are there.
ORDINARY = {
    "cache_undrawn.py": {"shuffle"},  # an argument
    "fixes/means/kept/pictures.py": {"load", "map"},  # attributes of Pillow
    "fixes/means/own_step/switch.py": {"take"},  # a key of ours
    "fixes/means/store/fingerprint.py": {"random"},  # a sentence
    "fixes/means/store/python.py": {"load"},  # a function of NumPy
    "fixes/means/workers/pydataset.py": {"shuffle"},  # an attribute of Keras
    "job/script/python_loops.py": {"distribute"},  # a part of module names
    "prove/live_shapes.py": {"distribute"},  # the same
    "job/source/mutating.py": {"shuffle"},  # a method of `random`
    "job/source/known_tensorflow.py": {"random"},  # of names of TensorFlow
    "job/source/fresh_values.py": {"concatenate", "range"},  # NumPy's and Python's
    "job/source/known_python.py": {"concatenate"},  # NumPy's
    "job/source/lines.py": {"range"},  # Python's
    "job/source/purity.py": {"random"},  # a module
    "job/tfdata/builders.py": {"shuffle"},  # an argument
    "job/tfdata/composites.py": {"ignore_errors", "shuffle"},  # arguments
    "job/tfdata/read.py": {"shuffle"},  # an argument
}
# Only these speak of fixes, some of which are called as the op that they add.
FIXES = {"cache", "interleave", "prefetch"}
OF_FIXES = ("causes/", "fixes/", "report/", "session/")


def strings(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_no_op_is_named_outside_of_the_table():
    named = {}
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith(("job/tfdata/ops/", "words/", "cli/words/")):
            continue
        found = strings(path) & {*ops.OPS, ops.OPAQUE}
        for end, words in ORDINARY.items():
            found -= words if place.endswith(end) else set()
        if place.startswith(OF_FIXES) and "/means/" not in place:
            found -= FIXES
        if found:
            named[place] = found
    assert not named, "use feedline.job.tfdata.ops: its names, or a Fact of the table"


def test_the_list_of_ordinary_words_is_needed():
    for end, words in ORDINARY.items():
        (path,) = SOURCE.rglob(end)
        assert words <= strings(path), path


def test_every_name_has_an_entry():
    written = {value for name, value in vars(names).items() if name.isupper()}
    assert written == {*ops.OPS, ops.OPAQUE}
    assert len(ops.CLASSES) == sum(len(op.classes) for op in ops.OPS.values())


def test_an_unknown_op_has_no_facts():
    assert not Stage(ops.OPAQUE).has(Fact.SAME)
    assert ops.facts("of tomorrow") is Fact.NONE
    assert Stage(ops.TFRECORD).has(Fact.FILES | Fact.RECORDS)
    assert not Stage(ops.LOAD).has(Fact.FILES | Fact.RECORDS)


def test_facts_go_together():
    for op in ops.OPS.values():
        if op.has(Fact.RECORDS):
            assert op.has(Fact.FILES), op.name
        if op.has(Fact.SIMPLE_FILES):
            assert op.has(Fact.NAMES_FILES | Fact.PARALLEL_FILES), op.name
            assert op.public
        if op.has(Fact.PASSES_ON) or op.has(Fact.SAYS_ONLY):
            assert op.has(Fact.LOOKS_AT_NONE | Fact.SAME), op.name
        if op.has(Fact.DRAWS):
            assert op.has(Fact.STATE), op.name
            assert not op.has(Fact.SAME), op.name
        if op.has(Fact.UNTOLD):
            assert not op.has(Fact.TOLD_BY_ARGUMENTS), op.name


def test_the_table_needs_no_tensorflow():
    program = (
        "import sys; from feedline.job.tfdata import ops, pipeline; "
        "assert ops.OPS and 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.tensorflow
def test_what_the_table_names_is_there():
    pytest.importorskip("tensorflow")
    from feedline.job.tfdata import arguments, builders

    for op in ops.OPS.values():
        assert callable(builders.maker(op))
        read = [op.args] if isinstance(op.args, By) else [*op.args.values()]
        for by in (*read, op.inputs):
            if isinstance(by, By):
                assert callable(arguments.found(by)), (op.name, by)
