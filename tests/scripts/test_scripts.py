"""The scripts of `ready/` give under feedline what they give by themselves.

In the gate, a few that are quick and telling; whether a fix is found depends on the
machine and is not asked there. The slow tier runs all of them, each way that it has,
and then asks that at least half were fixed: sameness alone is easy.
"""

from __future__ import annotations

import re

import pytest

from tests.scripts.compare import Compare, Compared
from tests.scripts.script import READY, Script, scripts

pytestmark = pytest.mark.tensorflow
slow = pytest.mark.slow

EVERY = {script.name: script for script in scripts()}
# State in the step, state in the map, lost steps, a loop of its own that is cured while
# it trains. (A shuffle read again: `tests/session/run/test_run.py`, by a plan.)
IN_THE_GATE = (
    "callback_make_train_function",
    "gan_two_optimizers",
    "map_variable",
    "eager_loop",
)
# Fixes that were applied in this session, by script.
applied: dict[str, tuple[str, ...]] = {}


@pytest.fixture
def compare(tmp_path):
    return Compare(tmp_path)


def same(done: Compared) -> None:
    assert not done.differs, (
        f"{done.differs}\n{done.diff[:2000]}\n{done.ours.err[-2000:]}"
    )


def having(form: str) -> list[Script]:
    return [script for script in EVERY.values() if script.has(form)]


@pytest.mark.parametrize("name", IN_THE_GATE)
def test_a_quick_one_gives_what_it_gives_by_itself(tmp_path, name):
    same(Compare(tmp_path, seconds="3")(EVERY[name]))


@slow
@pytest.mark.parametrize("name", EVERY)
def test_it_gives_what_it_gives_by_itself(compare, name):
    done = compare(EVERY[name])
    applied[name] = done.fixes
    same(done)
    assert not re.search(r"\bnan\b", done.plain.out), "what became NaN hides the rest"


@slow
def test_at_least_half_of_them_are_fixed():
    if set(applied) != set(EVERY):
        pytest.skip("not all of the scripts were run")
    fixed = [name for name, fixes in applied.items() if fixes]
    assert 2 * len(fixed) >= len(applied), sorted(set(applied) - set(fixed))


@slow
@pytest.mark.parametrize("script", having("tune"), ids=lambda script: script.name)
def test_tuned_by_the_script_it_gives_the_same(compare, script):
    same(compare(script, "tune"))


@slow
@pytest.mark.parametrize("script", having("later"), ids=lambda script: script.name)
def test_a_plan_that_no_longer_fits_changes_nothing(compare, script):
    same(compare(script, "plan"))


def test_every_script_says_what_it_is_about():
    for script in EVERY.values():
        lines = script.text.splitlines()
        assert 20 <= len(lines) <= 90, script.name
        assert script.about, script.name


def test_another_form_of_a_script_keeps_its_lines():
    for form in ("tune", "later"):
        assert having(form), f"no script in {READY.name}/ has a line for {form}"
        for script in having(form):
            changed = script.form(form)
            assert changed != script.text
            assert changed.count("\n") == script.text.count("\n")
            compile(changed, script.name, "exec")
