"""Random scripts with the switch of `own_step/hoist.py` in them: nothing can be told
from the scripts as they were, neither while it is off nor while it is on."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from tests.job.programs import PATH, SCOPES, TRAPS, chosen_from, program, programs, run

from feedline.fixes.means.own_step import hoist
from feedline.job.source import frames

COUNTS = {"all": 0, "rewritten": 0, "taken": 0}


def aside(found):
    """Compute the step by its function, in place of a graph."""

    def take(frame):
        if frames.caught(frame):
            return None
        try:
            captured = found.captured(frame)
        except LookupError:
            return None
        arguments = found.arguments(frame, captured)
        if arguments is None:
            return None
        COUNTS["taken"] += 1
        step = found.extracted.function(frame.f_globals, captured)
        return found.leave(frame, step(*arguments))

    return take


@pytest.fixture
def only_the_script(monkeypatch):
    """Frames of these tests are none of the script's."""
    monkeypatch.setattr(frames, "is_library", lambda filename: filename != PATH)


def rewritten(text, taker=None):
    """Anew each time: code that is run again counts its lines otherwise, in Python
    3.11, where a name is not set."""
    hoist._steps.clear()
    code = hoist.hoisted(text.encode(), PATH)
    for found in hoist._steps:
        found.switch.lead(taker and taker(found))
    return code


def same(text):
    plain = run(compile(text, PATH, "exec", dont_inherit=True), text)
    code = rewritten(text)
    COUNTS["all"] += 1
    if code is None:
        return
    COUNTS["rewritten"] += 1
    assert run(code, text) == plain
    assert run(rewritten(text, lambda _: declining), text) == plain
    on = run(rewritten(text, aside), text)
    if on.error is not None:
        # What a step that failed had set is not seen by anybody any more.
        for found in hoist._steps:
            for name in (*found.given, *found.left):
                on.names.pop(name, None)
                plain.names.pop(name, None)
    assert on == plain


def declining(_):
    return None


def check(max_examples):
    before = dict(COUNTS)

    @settings(
        max_examples=max_examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(programs())
    def law(text):
        same(text)

    law()
    made = {name: COUNTS[name] - before[name] for name in COUNTS}
    # Else it proves nothing.
    assert made["rewritten"] > 0.15 * made["all"]
    assert made["taken"] > 0.3 * made["all"]


@pytest.mark.parametrize("scope", SCOPES)
def test_no_trap_shows(scope, only_the_script):
    for trap in TRAPS:
        text = program(chosen_from([trap, {"scope": scope}]))
        with contextlib.suppress(SyntaxError):  # not everything may stand everywhere
            same(text)


def test_nothing_can_be_told(only_the_script):
    check(250)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_nothing_can_be_told_of_thousands(only_the_script):
    check(5_000)
