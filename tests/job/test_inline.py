"""A step in a loop made into a function: the same program."""

from __future__ import annotations

import textwrap
import types

import pytest

from feedline.job.steps import inline
from feedline.job.steps.parts import sources

HEAD = """\
class Tape:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def gradient(self, loss, variables):
        return [loss + one for one in variables]

tf = type("tf", (), {"GradientTape": Tape})
weights, rate, told = [1.0, 2.0], 0.5, []

def apply(pairs):
    for gradient, place in pairs:
        weights[place] -= rate * gradient
"""


def run(code):
    main = types.ModuleType("main")
    exec(code, main.__dict__)
    return {
        name: value
        for name, value in vars(main).items()
        if isinstance(value, int | float | str | list | tuple)
    }


def both(body):
    """What a script leaves, as it is and with its steps hoisted; the functions."""
    text = (HEAD + textwrap.dedent(body)).encode()
    before = set(sources)
    code = inline.hoisted(text, "train.py")
    new = [name for name in sources if name not in before]
    made = [sources[name] for name in new if name.startswith(inline.PREFIX)]
    plain = run(compile(text, "train.py", "exec"))
    return plain, (run(code) if code is not None else None), made


SAME = {
    "at the top": """\
    for x in (1.0, 2.0, 3.0):
        with tf.GradientTape() as tape:
            loss = x * weights[0]
        grads = tape.gradient(loss, weights)
        apply(zip(grads, range(2)))
        told.append(loss)
    last = loss
    """,
    "in epochs, with a name that the loop sets before": """\
    for epoch in range(3):
        for number, x in enumerate((1.0, 2.0)):
            x = x + epoch
            with tf.GradientTape() as tape:
                loss = x * weights[0]
                if number:
                    loss = loss * 2
            apply(zip(tape.gradient(loss, weights), range(2)))
            if number % 2 == 0:
                told.append((epoch, loss))
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
    for x in (3.0, 1.0, 2.0):
        with tf.GradientTape() as tape:
            loss = x * weights[0]
        grads = tape.gradient(loss, weights)
        apply(zip(grads, range(2)))
        best = max(best, loss)
    """,
    "a loop inside, a comprehension": """\
    for x in (3.0, 1.0):
        with tf.GradientTape() as tape:
            h = x
            for weight in weights:
                h = h * weight
            loss = sum([h for _ in range(2)])
        grads = tape.gradient(loss, weights)
        apply([(g, n) for n, g in enumerate(grads)])
    shown = loss
    """,
}


@pytest.mark.parametrize("name", SAME)
def test_it_is_the_same_program(name):
    plain, changed, made = both(SAME[name])
    assert len(made) == 1
    assert changed is not None
    kept = {key: value for key, value in plain.items() if key in changed}
    assert kept == changed
    assert plain["weights"] == changed["weights"]
    read_later = {"last", "best", "result", "shown", "told"}
    assert read_later & plain.keys() == read_later & changed.keys()


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
    told.append(loss)
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
    told.append(sorted(globals())[:0])
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
            told.append(x)
            grads = tape.gradient(x, weights)
    """,
}


@pytest.mark.parametrize("name", LEFT)
def test_where_it_cannot_be_said_nothing_is_done(name):
    _, changed, made = both(LEFT[name])
    assert changed is None
    assert made == []


def test_the_part_ends_where_python_begins():
    _, _, (function,) = both(SAME["in a function"])
    assert [argument.arg for argument in function.args.args] == ["x"]
    text = inline.ast.unparse(function)
    assert "total" not in text
    assert text.endswith("return (loss,)")


def test_lines_keep_their_numbers():
    body = """\
    for x in (1.0, 2.0):
        with tf.GradientTape() as tape:
            loss = x / 0
        grads = tape.gradient(loss, weights)
    """
    text = (HEAD + textwrap.dedent(body)).encode()
    code = inline.hoisted(text, "train.py")
    wanted = text.decode().splitlines().index("        loss = x / 0") + 1
    with pytest.raises(ZeroDivisionError) as raised:
        exec(code, {})
    assert raised.traceback[-1].lineno + 1 == wanted
