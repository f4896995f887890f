"""A plan may be older than what it is applied to: an edit that was right for another
pipeline is refused, or does no harm."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedline import fixes
from feedline.fixes.fix import CannotFix, Edit
from feedline.fixes.target import Target
from tests.causes.build import BATCH, SLICES, part
from tests.fixes.build import Epochs, looked_at, of_function

ARGS = {
    "parallel-map": [{}, {"split": True}],
    "interleave": [{"way": "turns"}, {"way": "ahead"}],
    "worker-processes": [{"workers": 2}],
    "prefetch-to-device": [{"device": "CPU:0"}],
    "cache": [{"on_disk": False}],
    "cache-before-shuffle": [{"maps": 1}],
    "cache-undrawn": [{"most": 10**6}],
}
# What these ask of a pipeline is tested with them.
CACHES = tuple(name for name in fixes.all() if name.startswith("cache"))
PIPELINE = [fix for fix in fixes.all().values() if fix.kind == "pipeline" and fix.apply]


def edits_for(pipeline, skip=()):
    """Every edit that can be made to this pipeline and is exact."""
    numbers = [stage.number for stage in pipeline.stages()]
    for fix in PIPELINE:
        for args in ARGS.get(fix.name, [{}]):
            for number in numbers if fix.takes.stage else [None]:
                edit = Edit(fix.name, number, args)
                if fix.least(edit) == "exact" and fix.name not in skip:
                    yield edit


def fits(pipeline, edit):
    try:
        fixes.apply(pipeline, [edit])
    except CannotFix:
        return False
    return True


# ------------------------------------------------- what can be seen from outside

FACTS = {
    "prints": {"outside": ("PrintV2",)},
    "reads what may change": {"reads": True},
    "keeps a state": {"stateful": True},
}


@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
@pytest.mark.parametrize("place", [1, 2])
def test_what_can_be_seen_from_outside_is_left_where_it_is(facts, place):
    """Neither moved nor run in parallel nor ahead of the step, by any fix."""
    maps = [part("map", 5.0, name="f"), part("map", 5.0, name="g")]
    maps[place - 1] = of_function(maps[place - 1], **facts)
    shuffle = part("shuffle", buffer_size=5)
    pipeline = looked_at(SLICES, *maps, shuffle, BATCH).pipeline
    # About the other map alone.
    allowed = {1: ("shuffle-ids", 3), 2: ("parallel-map", 1)}[place]
    for edit in edits_for(pipeline, skip=CACHES):
        assert not fits(pipeline, edit) or (edit.fix, edit.stage) == allowed, edit


def test_python_that_may_keep_a_state_is_not_run_ahead():
    facts = {"python": True, "pure": False, "stateful": True}
    seen = of_function(part("map", 5.0, name="f"), **facts)
    pure = of_function(part("map", 5.0, name="f"), python=True)
    for one, ahead in ((seen, False), (pure, True)):
        looked = looked_at(SLICES, one, BATCH)
        assert fits(looked.pipeline, Edit("prefetch")) is ahead
        assert fits(looked.pipeline, Edit("parallel-batch", 2)) is ahead


def test_a_parallel_stage_would_lose_the_order_where_the_options_allow_it():
    looked = looked_at(SLICES, part("map", 5.0, name="f"), BATCH)
    loose = replace(looked.pipeline, options={"deterministic": False})
    for edit in (Edit("parallel-map", 1), Edit("parallel-batch", 2)):
        assert fits(looked.pipeline, edit)
        assert not fits(loose, edit)


def test_a_seed_that_was_set_later_needs_the_split():
    free = of_function(part("map", 5.0, name="f", random=True), random=True)
    seeded = of_function(free, seeded=True)
    plain, split = Edit("parallel-map", 1), Edit("parallel-map", 1, {"split": True})
    assert fits(looked_at(SLICES, free, BATCH).pipeline, plain)
    with pytest.raises(CannotFix, match="draws under a seed"):
        fixes.apply(looked_at(SLICES, seeded, BATCH).pipeline, [plain])
    with pytest.raises(CannotFix, match="draws without a seed"):
        fixes.apply(looked_at(SLICES, free, BATCH).pipeline, [split])


# --------------------------------------------------------------------- the step


def model(**facts):
    given = {"run_eagerly": False, "jit_compile": False, "steps_per_execution": 1}
    return SimpleNamespace(**{**given, **facts})


class MirroredStrategy:
    pass


@pytest.mark.parametrize(
    ("fix", "facts", "reason"),
    [
        ("compile-step", {}, "a graph already"),
        ("jit-compile", {"jit_compile": True}, "XLA compiles the step already"),
        ("jit-compile", {"run_eagerly": True}, "runs eagerly"),
        ("jit-compile", {"distribute_strategy": MirroredStrategy()}, "Mirrored"),
        ("steps-per-execution", {"run_eagerly": True}, "runs eagerly"),
        ("steps-per-execution", {"steps_per_execution": 4}, "several steps"),
        ("steps-per-execution", {"distribute_strategy": MirroredStrategy()}, "Mir"),
    ],
)
def test_a_model_that_changed_is_refused(fix, facts, reason):
    install = fixes.all()[fix].install
    with pytest.raises(CannotFix, match=reason):
        install(Target(model(**facts)), Edit(fix, None, {"steps": 8}))


def test_launches_ask_who_listens_and_what_is_read():
    install = fixes.all()["steps-per-execution"].install
    edit = Edit("steps-per-execution", None, {"steps": 8})
    with pytest.raises(CannotFix, match="Mine may act on every batch"):
        install(Target(model(), callbacks=("Mine",)), edit)
    printing = of_function(part("map", 5.0, name="f"), outside=("PrintV2",))
    read = looked_at(SLICES, printing, BATCH).pipeline
    with pytest.raises(CannotFix, match="PrintV2"):
        install(Target(model(), pipeline=read), edit)


def test_no_launch_of_several_steps_where_nobody_knows_how_many_there_are():
    install = fixes.all()["steps-per-execution"].install
    for known, steps in ((None, 1), (40, 8)):
        epochs = Epochs(steps_per_epoch=None, num_batches=known)
        edit = Edit("steps-per-execution", None, {"steps": 8})
        install(Target(model(), epochs), edit)
        assert epochs.steps_per_execution == steps


# ------------------------------------------------------- random pipelines, for real


def stale_edits_do_no_harm(made_for, applied_to, skip=()):
    from feedline.job.tfdata.read import read
    from feedline.job.tfdata.rebuild import rebuild
    from tests.job.elements import epochs

    old = read(made_for.cook()[0]).numbered()
    expected = None
    for edit in edits_for(old, skip):
        if not fits(old, edit):
            continue
        now = read(applied_to.cook()[0]).numbered()
        try:
            changed = fixes.apply(now, [edit])
        except CannotFix:
            continue
        if expected is None:
            expected = epochs(applied_to.cook()[0])
        assert epochs(rebuild(changed)) == expected, edit


def pairs():
    from tests.job.strategies import recipes

    return st.tuples(recipes(), recipes()) | recipes().map(lambda one: (one, one))


@pytest.mark.tensorflow
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.deferred(pairs))
def test_a_stale_edit_is_refused_or_does_no_harm(pair):
    stale_edits_do_no_harm(*pair, skip=CACHES)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.timeout(7200)
@settings(
    max_examples=1_000, derandomize=False, suppress_health_check=list(HealthCheck)
)
@given(st.deferred(pairs))
def test_many_stale_edits_are_refused_or_do_no_harm(pair):
    stale_edits_do_no_harm(*pair, skip=CACHES)
