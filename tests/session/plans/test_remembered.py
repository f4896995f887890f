"""A plan of an earlier run, used again by `feedline run`, and taken out where it no
longer helps. Nothing is measured here: the memory is written by hand."""

from __future__ import annotations

from contextlib import closing

import pytest

from feedline.fixes.fix import Edit
from feedline.session.plans.memory import Memory, Remembered
from tests.place import Place
from tests.plans import TELL, plan_for
from tests.scripts import LIGHT, MODEL, PLAIN, said

pytestmark = pytest.mark.tensorflow

FIT = PLAIN.replace("shuffle(64)", "shuffle(64, seed=2)") + (
    'told("weights", model, model.fit(ds, epochs=3, validation_data=ds, verbose=0))\n'
)
# Half a second for an epoch, below which its pace is not judged, on any machine.
NAP = """\
def nap(label):
    time.sleep(0.01)
    return label

ds = ds.map(lambda x, y: (x, tf.ensure_shape(tf.numpy_function(nap, [y], y.dtype), [])))
"""
EDITS = (
    Edit("parallel-map", 1, {}),
    Edit("steps-per-execution", None, {"steps": 4}),
)


def told(place, nap=""):
    """What plain Python prints, and the mark of the job."""
    place.write(
        LIGHT, nap, MODEL, FIT, TELL, 'tell_bound(ds, kind="fit", model=model)\n'
    )
    *lines, mark = place.python().stdout.splitlines(keepends=True)
    return "".join(lines), mark


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Of the job without a nap, once for all."""
    with closing(Place(tmp_path_factory.mktemp("plain"))) as place:
        return told(place)


def remembered(place, mark, *edits, step_ms, spent_s=30.0, nap=""):
    """The memory of a run that found these edits."""
    place.write(LIGHT, nap, MODEL, FIT)
    source = place.script.read_text().splitlines()
    (line,) = [n for n, text in enumerate(source, 1) if ".fit(" in text]
    plan = plan_for(mark, *edits, where=f"train.py:{line}")
    memory = Memory([str(place.script)], ("exact",), module=False)
    memory.remember([Remembered(plan, spent_s, step_ms)])
    return memory


def run(place, *options):
    return place.run("-m", "feedline", "run", *options, "train.py")


def test_it_is_applied_at_once_and_the_training_is_the_same(place, plain):
    expected, mark = plain
    remembered(place, mark, *EDITS, step_ms=1e6)
    done = run(place)
    assert done.stdout == expected
    first, *_ = said(done)
    assert first == (
        "feedline: applying parallel-map, steps-per-execution, as an earlier run found "
        "(--fresh measures again)"
    )
    assert "measuring, at most" not in done.stderr


def test_what_is_slower_than_the_script_was_is_taken_out_again(place):
    expected, mark = told(place, NAP)
    memory = remembered(place, mark, *EDITS, step_ms=0.001, nap=NAP)
    done = run(place)
    assert done.stdout == expected
    assert "ms with the fixes and took" in done.stderr
    (known,) = memory.recall()
    assert known.plan.edits == ()
    again = run(place)
    assert again.stdout == expected
    assert "an earlier run found no fix that helps" in again.stderr


def test_it_is_not_applied_to_another_job(place, plain):
    remembered(place, plain[1], *EDITS, step_ms=1e6)
    changed = place.script.read_text().replace("* 0.1", "* 0.2")
    place.script.write_text(changed)
    expected = place.python().stdout
    assert expected != plain[0]
    done = run(place)
    assert done.stdout == expected
    assert "what an earlier run found for train.py" in done.stderr
    assert "as an earlier run found" not in done.stderr
