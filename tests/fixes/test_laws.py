"""What holds for every fix, whatever it does."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import CannotFix, Edit, grades
from tests.causes.build import BATCH, HOST, SLICES, about, part
from tests.fixes.build import looked_at
from tests.place import LIMIT

KNOWN = fixes.all()
EVERY_GRADE = fixes.GRADES


def rich_cases():
    """Jobs in which between them every pure fix of the pipeline has work to do."""
    machine = replace(HOST, free_disk_gb=100.0)
    more = {
        "epochs": 5,
        "machine": machine,
        "what_if": {"input:as-is": about(30.0), "input:unordered": about(10.0)},
    }
    yield looked_at(SLICES, part("map", 50.0, name="f"), BATCH, **more)
    wide = part("map", 50.0, name="f", threads=2, num_parallel_calls=2)
    files = part("tfrecord", 20.0, filenames=["a", "b"])
    yield looked_at(files, wide, part("batch", 20.0, batch_size=4), **more)
    read = part("flat_map", 20.0, name="r", ops=("TFRecordDataset",))
    yield looked_at(SLICES, read, wide, BATCH, **more)
    turns = part("interleave", 20.0, name="r", ops=("CSVDataset",), cycle_length=4)
    yield looked_at(SLICES, turns, BATCH, **more)


def test_every_fix_is_found_by_its_file():
    assert list(KNOWN) == sorted(KNOWN)
    assert {"parallel-map", "prefetch", "cache", "row-sparse-embedding"} <= set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_a_page_begins_with_one_sentence(name):
    fix = KNOWN[name]
    first, blank, *rest = fix.page.splitlines()
    assert fix.title == first
    assert 10 < len(first) < 80
    assert first[0].isupper()
    assert not first.endswith(".")
    assert blank == ""
    assert rest
    assert re.search(r"(?i)\b(exact|reordered|numeric|advice)\b", fix.page)


@pytest.mark.parametrize("name", KNOWN)
def test_a_fix_works_either_on_the_pipeline_or_on_the_step(name):
    fix = KNOWN[name]
    if fix.apply is None and fix.install is None:
        assert "advice" in fix.page.lower()  # never applied
        return
    assert (fix.apply is not None) == (fix.kind in ("pipeline", "both"))
    assert (fix.install is not None) == (fix.kind in ("step", "both"))


ADVICE = [name for name, fix in KNOWN.items() if fix.least(Edit(name)) == "advice"]


@pytest.mark.parametrize("name", ADVICE)
def test_advice_shows_what_to_write(name):
    page = KNOWN[name].page
    assert re.findall(r"^## (.+)$", page, re.M) == ["Example", "Use instead"]
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) == 2
    for block in blocks:
        compile(block, name, "exec")


def test_advice_is_what_no_fix_applies():
    assert len(ADVICE) == 17
    for name, fix in KNOWN.items():
        assert (name in ADVICE) == (fix.apply is fix.install is None), name


def test_looking_for_fixes_loads_no_tensorflow():
    program = (
        "import sys; from feedline import fixes; fixes.all(); "
        "from feedline.fixes import plan, saved, target; "
        "sys.exit('tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=LIMIT)
    assert done.returncode == 0


def test_proposals_are_plain_and_allowed():
    seen = set()
    for case in rich_cases():
        for proposal in fixes.proposals(case, EVERY_GRADE):
            seen.add(proposal.edit.fix)
            assert proposal.grade in fixes.GRADES
            assert proposal.edit.fix in KNOWN
            args = proposal.edit.args.values()
            assert all(isinstance(arg, bool | int | str | float) for arg in args)
            assert all(p.grade == "exact" for p in fixes.proposals(case, ("exact",)))
    assert {"parallel-map", "cache", "prefetch", "interleave", "unordered"} <= seen


def test_applying_an_edit_again_changes_nothing_more_or_is_not_proposed():
    for case in rich_cases():
        for proposal in fixes.proposals(case, EVERY_GRADE):
            edit = proposal.edit
            if KNOWN[edit.fix].apply is None:
                continue
            once = fixes.apply(case.pipeline, [edit])
            assert once != case.pipeline
            now = replace(case, pipeline=once, edits=(edit,), costs=proposal.costs)
            again = [p.edit for p in fixes.proposals(now, EVERY_GRADE)]
            assert edit not in again
            if edit.fix in ("cache", "prefetch") or edit.args.get("way") == "ahead":
                continue
            try:
                twice = fixes.apply(once, [edit])
            except CannotFix:
                continue
            assert _bare(twice) == _bare(once)


def _bare(pipeline):
    return [(s.op, dict(s.args), s.number) for s in pipeline.stages()], dict(
        pipeline.options
    )


def test_edits_keep_the_numbers_of_the_stages_they_leave():
    for case in rich_cases():
        for proposal in fixes.proposals(case, EVERY_GRADE):
            before = {s.number: s.op for s in case.pipeline.stages()}
            once = fixes.apply(case.pipeline, [proposal.edit])
            after = [s.number for s in once.stages() if s.number >= 0]
            assert len(after) == len(set(after))
            for stage in once.stages():
                if stage.number >= 0 and stage.number != proposal.edit.stage:
                    assert stage.op == before[stage.number]


@pytest.mark.parametrize("fix", [n for n, f in KNOWN.items() if f.apply])
@pytest.mark.parametrize("stage", [None, 0, 1, 2, 99])
def test_an_edit_that_does_not_fit_is_refused(fix, stage):
    """A plan from elsewhere may say anything: refused by an error of ours, or
    done; never anything else."""
    case = looked_at(SLICES, part("map", 5.0, name="f"), BATCH)
    args = {"way": "ahead", "workers": 2, "split": True}
    try:
        fixes.apply(case.pipeline, [fixes.Edit(fix, stage, args)])
    except (CannotFix, FeedlineError):
        return


def test_exact_is_always_allowed():
    assert grades(()) == ("exact",)
    assert grades(("numeric",)) == ("exact", "numeric")
    assert grades(("numeric", "reordered", "exact")) == (
        "exact",
        "reordered",
        "numeric",
    )
    for bad in ("advice", "all", "Exact", ""):
        with pytest.raises(FeedlineError, match="cannot be allowed"):
            grades((bad,))
