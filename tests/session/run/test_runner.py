"""`feedline run` in the script's process: what needs no TensorFlow to be shown."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline.errors import one_sentence
from feedline.fixes.fix import Edit
from feedline.process.channel import Channel
from feedline.report.basis import Basis
from feedline.session.messages import Order, Outcome, decode
from feedline.session.plans.memory import Remembered
from feedline.session.rehearsal.rehearse import Rehearsal
from feedline.session.run.runner import Runner
from tests.plans import somewhere
from tests.session.build import slow_map


class Heard(list):
    def say(self, text):
        self.append(text)


@pytest.fixture
def make():
    channel = Channel.make()

    def make(kind=Runner, target="train.py", **more):
        voice = Heard()
        return kind(Order("run", (target,), False, 20.0, **more), channel, voice), voice

    yield make
    channel.close()


def test_a_training_that_is_too_short_is_told_of_once(make):
    runner, heard = make()
    runner.time.looked("train.py:3", 0.1)
    runner.on_warm(SimpleNamespace(where="train.py:3", source=None, kind="fit"))
    assert heard == []


def test_a_measurement_that_cannot_be_written_is_told_of(make):
    runner, _ = make()
    broken = replace(slow_map().measured, unknown=(object(),))
    runner.send(Outcome(basis=Basis.of(slow_map().job, broken), loops=2))
    heard = decode(Outcome, runner._channel.get())
    assert (heard.basis, heard.loops) == (None, 2)
    assert "object cannot be sent" in heard.failed


STEP, OTHER = Edit("compile-step"), Edit("prefetch")


@pytest.mark.parametrize(
    ("plan", "lines"),
    [
        (None, False),
        (somewhere(OTHER, where="train.py:7"), False),
        (somewhere(STEP, where="train.py:7"), {7}),
        (somewhere(OTHER, STEP, where="train.py:7"), {7}),
        (somewhere(STEP, where="other.py:7"), False),
        (somewhere(STEP, where=""), False),
    ],
)
def test_only_the_loop_that_a_plan_names_is_rewritten(make, plan, lines):
    runner, _ = make(target="src/train.py", plan=plan)
    assert runner.hoists() == lines
    rehearsal, _ = make(Rehearsal)
    assert rehearsal.hoists() is True


SLOW, QUICK = [0.05] * 6, [0.005] * 6
PASSIVE = {
    "a long graph that hardly waits": ({}, True),
    "an eager step": ({"eager": True}, False),
    "a fit": ({"kind": "fit"}, False),
    "waiting": ({"waits": [0.004] * 6}, False),
    "short steps": ({"periods": QUICK, "waits": [0.0001] * 6}, False),
    "too few steps seen": ({"periods": SLOW[:3], "waits": [0.0] * 3}, False),
    "waits not seen": ({"waits": []}, False),
}


@pytest.mark.parametrize("name", PASSIVE)
def test_where_no_fix_is_expected_none_is_looked_for(make, name):
    """By what was seen in passing, and only if that is clear."""
    differs, nothing = PASSIVE[name]
    facts = {"kind": "loop", "eager": False, "periods": SLOW, "waits": [0.001] * 6}
    loop = SimpleNamespace(**{**facts, **differs})
    rehearsal, _ = make(Rehearsal)
    assert rehearsal._nothing_expected(loop) == nothing
    more, _ = make(Rehearsal, allow=("exact", "numeric"))
    assert not more._nothing_expected(loop)


def test_a_long_error_of_keras_is_one_sentence():
    text = (
        "Unable to automatically build the model. Please build it yourself before\n"
        "  calling fit/evaluate/predict. A model is 'built' when its variables ..."
    )
    assert one_sentence(text) == "Unable to automatically build the model."
    assert one_sentence("planted\nfault") == "planted fault"
    assert one_sentence("") == ""
    assert one_sentence("it takes 0.5 s, e.g. less. So") == "it takes 0.5 s, e.g. less."


@given(st.text())
def test_a_sentence_is_one_line_and_no_word_of_it_is_cut(text):
    said = one_sentence(text)
    assert len(said.splitlines()) <= 1
    words, kept = text.split(), said.removesuffix(" ...").split()
    assert kept == words[: len(kept)] or len(words[0]) > len(said) / 2


def test_a_loop_is_rewritten_only_in_the_very_same_source(make):
    known = Remembered(somewhere(Edit("compile-step", None)))
    runner, _ = make(remembered=(known,))
    assert runner.hoists() == frozenset({3})
    runner, _ = make(remembered=(replace(known, same_source=False),))
    assert runner.hoists() is False
    assert runner.planned.plan_at("train.py:3") is None
