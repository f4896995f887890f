"""Whatever the script reads after a dataset was tuned, it reads as without us.

A pipeline is made stage by stage, some of its stages stay in variables, the last one
is tuned and read. Then the script goes on: it reads what it kept, and datasets that it
makes of that. Each shuffle must have gone on from where the script left it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import tensorflow as tf
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import CannotFix, Edit
from feedline.session.plans import stand_ins
from feedline.session.tuning import stages_in_use
from tests.job.elements import elements
from tests.job.strategies import SOURCES, STEPS, recipes
from tests.session.test_tune import looked_at

pytestmark = pytest.mark.tensorflow

MOST = 60
LATER = {
    "itself": lambda d: d,
    "take": lambda d: d.take(5),
    "skip": lambda d: d.skip(1),
    "batch": lambda d: d.batch(3),
    "repeat": lambda d: d.repeat(2),
    "twice": lambda d: d.take(4).repeat(2),
    "shuffle": lambda d: d.shuffle(3, seed=1),
    "shuffled rest": lambda d: d.skip(2).shuffle(30, seed=2),
    "zip": lambda d: tf.data.Dataset.zip((d.take(6), tf.data.Dataset.range(6))),
}


BESIDE = ("itself", "batch", "repeat", "shuffle", "shuffled rest")


@pytest.fixture(autouse=True)
def _no_seed(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDLINE_CACHE", str(tmp_path / "store"))
    tf.random.set_seed(None)
    yield
    tf.random.set_seed(None)


def stages_of(recipe):
    """Every stage of the recipe, the source first."""
    made, names = [SOURCES[recipe.source](recipe.number)], [recipe.source]
    for step in recipe.steps:
        dataset, names = STEPS[step][2](made[-1], names, recipe.number)
        made.append(dataset)
    return made


class Script:
    """Keeps some of the stages, and the last. Of those that it keeps it has made other
    datasets, and has read them once."""

    def __init__(self, recipe, held, beside=()):
        made = stages_of(recipe)
        self.kept = [made[place % len(made)] for place in held]
        self.last = made[-1]
        self.beside, self.began = [], []
        try:
            for place, way in beside:
                if self.kept:
                    other = LATER[way](self.kept[place % len(self.kept)])
                    self.beside.append(other)
                    self.began.append(plainly(other))
        except tf.errors.OpError as error:
            self.began.append(type(error).__name__)

    def goes_on(self, later, read):
        """The last stage twice, as a training would, and what stands beside it; then
        all that comes later. Where the script itself fails (a batch of unlike
        elements), that is the end of it."""
        seen = [self.began]
        try:
            seen += [read(self.last), *map(read, self.beside), read(self.last)]
            for place, way in later:
                known = [*self.kept, self.last]
                seen.append(read(LATER[way](known[place % len(known)])))
        except tf.errors.OpError as error:
            seen.append(type(error).__name__)
        return seen


def plainly(dataset):
    return elements(dataset, MOST)


def instead(dataset):
    found = stand_ins.instead_of(dataset)
    return elements(dataset if found is None else found, MOST)


def goes_on_as_without(recipe, held, beside, later, chosen):
    """False where nothing could be applied, or compared."""
    if raced(recipe, {way for _, way in (*beside, *later)}):
        return False
    expected = Script(recipe, held, beside).goes_on(later, plainly)
    script = Script(recipe, held, beside)
    case = looked_at(script.last)
    used = stages_in_use(case.pipeline, script.beside) | stand_ins.shared(case.pipeline)
    proposals = list(fixes.proposals(replace(case, used=used), ("exact",)))
    if not proposals or not expected[1]:
        return False
    edits = (proposals[chosen % len(proposals)].edit,)
    try:
        stand_ins.tuned(script.last, edits)
    except (CannotFix, FeedlineError):
        return False
    seen = script.goes_on(later, instead)
    again = partial(Script, recipe, held, beside)
    assert seen == expected or not repeats(again, later, expected), edits
    return True


def raced(recipe, ways):
    """Does the script draw in threads that a pass which ends early leaves behind? How
    far they have drawn by then, the machine decides; on an idle one it is always the
    same."""
    parallel = any("parallel" in step for step in recipe.steps)
    return "noise" in recipe.steps and parallel and bool({"twice", "zip"} & ways)


def repeats(again, later, expected):
    """Does the script by itself always read the same? TensorFlow makes maps parallel:
    how far they draw ahead of a zip that ends early, the machine decides."""
    return all(again().goes_on(later, plainly) == expected for _ in range(12))


WORLD = (
    recipes(),
    st.lists(st.integers(0, 7), max_size=2),
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(BESIDE)), max_size=2),
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(sorted(LATER))),
        min_size=1,
        max_size=3,
    ),
    st.integers(0, 20),
)
EVERY = settings(deadline=None, suppress_health_check=list(HealthCheck))


@settings(EVERY, max_examples=40, derandomize=True)
@given(*WORLD)
def test_what_the_script_reads_later(recipe, held, beside, later, chosen):
    assume(goes_on_as_without(recipe, held, beside, later, chosen))


@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(EVERY, max_examples=1000, derandomize=False)
@given(*WORLD)
def test_what_a_thousand_scripts_read_later(recipe, held, beside, later, chosen):
    assume(goes_on_as_without(recipe, held, beside, later, chosen))


def test_a_shuffle_above_what_both_read_goes_on():
    """Training and validation are parts of one shuffled dataset, and a map between
    them is made parallel: nothing below that has moved, so the training's own shuffle
    goes on from where it is."""

    def parts():
        whole = base().map(lambda x: x + 1)
        return whole.skip(10).shuffle(30, seed=5).batch(4), whole.take(10).batch(4)

    training, validation = parts()
    plain = [plainly(training), plainly(validation), plainly(training)]
    training, validation = parts()
    first = plainly(training)
    stand_ins.tuned(validation, (Edit("parallel-map", 3, {}),))
    assert [first, instead(validation), instead(training)] == plain


def base(number=40):
    return tf.data.Dataset.range(number).map(lambda x: x * 3).shuffle(40, seed=7)


def test_another_dataset_from_the_same_shuffle_goes_on_from_the_copy():
    shuffled = base()
    plain = [elements(shuffled.batch(4)), elements(shuffled.batch(8))]
    shuffled = base()
    first = shuffled.batch(4)
    tuned = stand_ins.tuned(first, (Edit("parallel-map", 1, {}),))
    assert stand_ins.instead_of(first) is tuned is not first
    assert [instead(first), instead(shuffled.batch(8))] == plain


def test_a_shuffle_that_others_can_reach_is_not_taken_apart():
    shuffled = base()
    with pytest.raises(CannotFix, match="in another way"):
        stand_ins.tuned(shuffled.batch(4), (Edit("shuffle-ids", 2, {}),))
    alone = base().batch(4)  # nobody holds its shuffle
    assert stand_ins.tuned(alone, (Edit("shuffle-ids", 2, {}),)) is not alone


def test_a_shuffle_and_the_repeat_behind_it_stay_together():
    """TensorFlow makes one stage of them, which draws otherwise than the two do."""
    one = base().repeat(2).batch(4)
    with pytest.raises(CannotFix, match="the repeat behind it"):
        stand_ins.tuned(one, (Edit("shuffle-ids", 2, {}),))
    shuffled = base(20)  # every pass is read to its end
    plain = [plainly(shuffled), *(plainly(shuffled.repeat(2)) for _ in range(3))]
    shuffled = base(20)
    stand_ins.tuned(shuffled, (Edit("prefetch", None, {}),))
    later = [instead(shuffled), *(instead(shuffled.repeat(2)) for _ in range(3))]
    assert later == plain


def noisy(dataset):
    return dataset.map(
        lambda x: x + tf.random.uniform([], maxval=100, dtype=tf.int64, seed=5)
    )


@pytest.mark.parametrize(
    "edit", [Edit("parallel-map", 3, {"split": True}), Edit("prefetch", None, {})]
)
def test_what_is_drawn_ahead_is_not_missing_from_the_next_pass(edit):
    last = noisy(base())
    plain = [plainly(last), plainly(last.take(4).repeat(2)), plainly(last)]
    last = noisy(base())
    stand_ins.tuned(last, (edit,))
    assert [instead(last), instead(last.take(4).repeat(2)), instead(last)] == plain


def test_draws_below_a_shuffle_do_not_run_ahead():
    behind = noisy(tf.data.Dataset.range(40)).shuffle(4, seed=1)
    with pytest.raises(CannotFix, match="see that they run ahead"):
        stand_ins.tuned(behind, (Edit("parallel-map", 1, {"split": True}),))


def test_what_was_made_of_a_tuned_dataset_goes_on_by_itself():
    """No state has moved: its own shuffle is not made again."""

    def both():
        whole = tf.data.Dataset.range(30)
        return whole, whole.shuffle(30, seed=5)

    whole, shuffled = both()
    plain = [plainly(shuffled), plainly(whole), plainly(shuffled)]
    whole, shuffled = both()
    first = plainly(shuffled)
    stand_ins.tuned(whole, (Edit("prefetch", None, {}),))
    assert [first, instead(whole), instead(shuffled)] == plain
