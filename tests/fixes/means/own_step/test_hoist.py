"""A step in a loop behind a switch: the same program, whoever computes it."""

from __future__ import annotations

import ast
import textwrap
import types

import pytest
from tests.job.programs import HEAD, PATH, run

from feedline.fixes.means.own_step import hoist
from feedline.job.source import definitions, frames


@pytest.fixture(autouse=True)
def only_the_script(monkeypatch):
    """Frames of these tests are none of the script's."""
    monkeypatch.setattr(frames, "is_library", lambda filename: filename != PATH)


def both(body, only=None):
    """What is seen of a script, as it is and with its steps computed aside; the
    steps, and how many were computed."""
    text = HEAD + textwrap.dedent(body)
    hoist._steps.clear()
    code = hoist.hoisted(text.encode(), PATH, only)
    steps, taken = list(hoist._steps), []

    def aside(found):
        def take(frame):
            captured = found.captured(frame)
            arguments = found.arguments(frame, captured)
            if arguments is None or frames.caught(frame):
                return None
            taken.append(found)
            function = found.extracted.function(frame.f_globals, captured)
            return found.leave(frame, function(*arguments))

        return take

    for found in steps:
        found.switch.lead(aside(found))
    plain = run(compile(text, PATH, "exec", dont_inherit=True), text)
    return plain, code and run(code, text), steps, len(taken)


SAME = {
    "at the top": """\
    for x in DATA:
        with tf.GradientTape() as tape:
            loss = x * weights[0]
        grads = tape.gradient(loss, weights)
        apply(zip(grads, range(2)))
        kept.append(loss)
    last = loss
    """,
    "in epochs, with a name that the loop sets before": """\
    for epoch in range(3):
        for number, x in enumerate(DATA):
            x = x + epoch
            with tf.GradientTape() as tape:
                loss = x * weights[0]
                if number:
                    loss = loss * 2
            apply(zip(tape.gradient(loss, weights), range(2)))
            if number % 2 == 0:
                kept.append((epoch, loss))
    """,
    "in a function": """\
    def main(scale, n):
        total = 0.0
        for x in range(n):
            with tf.GradientTape() as tape:
                loss = x * weights[0] * scale
            grads = tape.gradient(loss, weights)
            apply(zip(grads, range(2)))
            total += loss
        return total, loss
    result = main(0.25, 4)
    """,
    "a name kept from round to round": """\
    best = 0.0
    for x in DATA:
        with tf.GradientTape() as tape:
            loss = x * weights[0]
        grads = tape.gradient(loss, weights)
        apply(zip(grads, range(2)))
        best = max(best, loss)
    """,
    "a loop inside, a comprehension": """\
    for x in DATA:
        with tf.GradientTape() as tape:
            h = x
            for weight in weights:
                h = h * weight
            loss = sum([h for _ in range(2)])
        grads = tape.gradient(loss, weights)
        apply([(g, n) for n, g in enumerate(grads)])
    shown = loss
    """,
    "two tapes, in a method": """\
    class GAN:
        def train(self):
            for x in DATA:
                with tf.GradientTape() as one, tf.GradientTape() as two:
                    loss, other = x * weights[0], x * weights[1]
                grads = one.gradient(loss, weights)
                apply(zip(grads, range(2)))
                apply(zip(two.gradient(other, weights), range(2)))
            return loss + other
    result = GAN().train()
    """,
    "batches that are asked for": """\
    batches = iter(DATA)
    while True:
        x = next(batches, None)
        if x is None:
            break
        with tf.GradientTape() as tape:
            loss = x * weights[0]
        grads = tape.gradient(loss, weights)
        apply(zip(grads, range(2)))
    """,
}


@pytest.mark.parametrize("name", SAME)
def test_it_is_the_same_program(name):
    plain, changed, steps, taken = both(SAME[name])
    assert changed == plain
    assert len(steps) == 1
    assert taken >= 4


LEFT = {
    "no tape": "for x in (1.0,):\n    apply([(x, 0)])\n",
    "no gradient": """\
    for x in (1.0,):
        with tf.GradientTape() as tape:
            loss = x
    """,
    "set from round to round in the tape": """\
    loss = 1.0
    for x in (1.0, 2.0):
        with tf.GradientTape() as tape:
            loss = loss * x
            grads = tape.gradient(loss, weights)
    """,
    "set perhaps, and read later": """\
    for x in (1.0, 2.0):
        with tf.GradientTape() as tape:
            if x > 0:
                loss = x
            grads = tape.gradient(1.0, weights)
    kept.append(loss)
    """,
    "leaves the loop": """\
    for x in (1.0, 2.0):
        with tf.GradientTape() as tape:
            if x > 1:
                break
            grads = tape.gradient(x, weights)
    """,
    "looks at names": """\
    for x in (1.0, 2.0):
        with tf.GradientTape() as tape:
            loss = x
        grads = tape.gradient(loss, weights)
    kept.append(sorted(globals())[:0])
    """,
    "a name of another scope": """\
    def main():
        global loss
        for x in (1.0, 2.0):
            with tf.GradientTape() as tape:
                loss = x
            grads = tape.gradient(loss, weights)
    main()
    """,
    "keeps values": """\
    for x in (1.0, 2.0):
        with tf.GradientTape() as tape:
            kept.append(x)
            grads = tape.gradient(x, weights)
    """,
    "a function reads what the step sets": """\
    def twice():
        return 2 * loss
    for x in (1.0, 2.0):
        with tf.GradientTape() as tape:
            loss = x
        grads = tape.gradient(twice(), weights)
    """,
    "the tape is used later": """\
    for x in (1.0, 2.0):
        with tf.GradientTape() as tape:
            loss = x
        grads = tape.gradient(loss, weights)
        print(tape.gradient(loss, weights))
    """,
}


@pytest.mark.parametrize("name", LEFT)
def test_where_it_cannot_be_said_nothing_is_done(name):
    _, changed, steps, _ = both(LEFT[name])
    assert changed is None
    assert steps == []


def test_the_part_ends_where_python_begins():
    _, _, (found,), _ = both(SAME["in a function"])
    assert found.extracted.parameters == ("x",)
    assert found.extracted.captured == ("scale",)
    assert found.given == ("loss",)
    text = ast.unparse(definitions.made[found.extracted.code])
    assert "total" not in text


def test_an_error_in_a_step_that_somebody_would_catch_is_left_to_python():
    body = """\
    def main():
        for x in DATA:
            with tf.GradientTape() as tape:
                loss = fails(x)
            grads = tape.gradient(loss, weights)
    try:
        main()
    except ValueError:
        print("caught")
    """
    plain, changed, _, taken = both(body)
    assert changed == plain
    assert taken == 0
    assert "caught" in plain.output
    quiet = body.replace("ValueError", "KeyboardInterrupt")
    plain, changed, _, taken = both(quiet)
    assert taken == 3
    assert changed.error == plain.error
    assert changed.frames == plain.frames


TWO = """\
def helper(values):
    return [value + 1 for value in values]

def one():
    for x in DATA:
        with tf.GradientTape() as tape:
            loss = x
        grads = tape.gradient(loss, weights)
        apply(zip(grads, range(2)))

class Other:
    @staticmethod
    def two():
        for x in DATA:
            with tf.GradientTape() as tape:
                loss = x
            grads = tape.gradient(loss, weights)
            apply(zip(grads, range(2)))
            print([helper([x]) for _ in "a"])

one()
Other.two()
"""


def line_of(text, words):
    return next(n for n, each in enumerate(text.splitlines(), 1) if words in each)


def codes(code):
    return {(c.co_name, c.co_firstlineno): c for c in definitions.all_codes(code)}


def tables(code):
    names = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")
    names += ("co_linetable", "co_flags", "co_argcount", "co_firstlineno")
    return [getattr(code, name) for name in names]


@pytest.mark.parametrize("loop", ["one", "two"])
def test_only_the_loop_that_is_asked_for_is_touched(loop):
    text = HEAD + TWO
    line = line_of(text, f"def {loop}") + 1
    hoist._steps.clear()
    changed = codes(hoist.hoisted(text.encode(), PATH, {line}))
    plain = codes(compile(text, PATH, "exec", dont_inherit=True))
    assert [found.path for found in hoist._steps] == [PATH]
    assert hoist.at(PATH, line) is hoist._steps[0]
    assert changed.keys() == plain.keys()
    differ = {
        name for name, _ in plain if tables(plain[name, _]) != tables(changed[name, _])
    }
    assert differ == {loop}
    for key, code in plain.items():
        if key[0] not in (loop, "<module>", "Other"):
            assert changed[key] == code
        assert changed[key].co_names == code.co_names
        assert changed[key].co_varnames == code.co_varnames


def test_a_loop_that_nobody_asked_for_is_left():
    text = (HEAD + TWO).encode()
    assert hoist.hoisted(text, PATH, {1}) is None
    assert hoist.hoisted(text, PATH, set()) is None


def test_both_loops_where_all_are_wanted():
    plain, changed, steps, taken = both(TWO)
    assert changed == plain
    assert len(steps) == 2
    assert taken == 8


def test_a_step_inside_of_a_step_is_one():
    body = """\
    for x in DATA:
        with tf.GradientTape() as tape:
            loss = x
            for y in DATA:
                with tf.GradientTape() as inner:
                    small = y * loss
                grads = inner.gradient(small, weights)
                apply(zip(grads, range(2)))
        grads = tape.gradient(loss, weights)
        apply(zip(grads, range(2)))
    """
    plain, changed, steps, _ = both(body)
    assert changed == plain
    assert len(steps) == 1


def test_letters_and_line_ends_of_any_kind():
    body = SAME["in a function"].replace("scale", "größe")
    text = (HEAD + textwrap.dedent(body)).replace("\n", "\r\n").encode("utf-8-sig")
    assert hoist.hoisted(text, PATH) is not None
    latin = b"# -*- coding: latin-1 -*-\n" + (HEAD + textwrap.dedent(body)).encode(
        "latin-1"
    )
    assert hoist.hoisted(latin, PATH) is not None


def test_the_switch_has_no_name():
    text = (HEAD + textwrap.dedent(SAME["at the top"])).encode()
    code = hoist.hoisted(text, PATH)
    main = types.ModuleType("__main__")
    exec(code, main.__dict__)
    assert not [name for name in vars(main) if "feedline" in name]
