"""Loops with nothing but the step in them: which they are, by their source."""

from __future__ import annotations

import textwrap

import pytest
from tests.job.test_inline import HEAD, both, run

from feedline.job.steps import bare, inline

STEP = """\
def step(x, scale=1.0):
    with tf.GradientTape() as tape:
        loss = x * weights[0] * scale
    apply(zip(tape.gradient(loss, weights), range(2)))
    return loss

"""
BARE = {
    "one call": "for x in (1.0, 2.0):\n    loss = step(x)\nlast = loss\n",
    "nothing kept": "for x in (1.0, 2.0):\n    step(x)\n",
    "nested elements": """\
    for (x, (y, _)) in ((1.0, (2.0, 3.0)), (2.0, (3.0, 4.0))):
        z = x + y
        loss = step(z, scale=rate)
    last = loss
    """,
    "in epochs, in a function": """\
    def main():
        for epoch in range(2):
            for x in (1.0, 2.0):
                loss = step(x)
            told.append((epoch, loss))
        return x
    result = main()
    """,
}
NOT_BARE = {
    "a counter": "n = 0\nfor x in (1.0, 2.0):\n    step(x)\n    n += 1\n",
    "a list": "for x in (1.0, 2.0):\n    told.append(step(x))\n",
    "a sum": "t = 0.0\nfor x in (1.0, 2.0):\n    t = t + step(x)\n",
    "printed": "for x in (1.0, 2.0):\n    print(step(x), end='')\n",
    "left": "for x in (1.0, 2.0):\n    step(x)\n    break\n",
    "gone through": "for x in (1.0, 2.0):\n    step(x)\nelse:\n    told.append(1)\n",
    "the epoch": (
        "for e in range(2):\n  for x in (1.0, 2.0):\n    loss = step(x, scale=e)\n"
    ),
    "kept sometimes": (
        "best = 9\nfor x in (1.0, 2.0):\n    loss = step(x)\n"
        "    if loss < 0:\n        best = loss\nlast = best\n"
    ),
    "an attribute": "for tf.x in (1.0, 2.0):\n    step(tf.x)\n",
    "no step": "for x in (1.0, 2.0):\n    y = x * 2\n",
    "a name of another scope": """\
    def main():
        global last
        for x in (1.0, 2.0):
            last = step(x)
    main()
    """,
}


def scripts(cases):
    return pytest.mark.parametrize("body", cases.values(), ids=cases)


def loop_of(body):
    """What became of the script's innermost loop."""
    text = HEAD + STEP + textwrap.dedent(body)
    line = max(
        number
        for number, each in enumerate(text.splitlines(), 1)
        if each.strip().startswith("for ") and " range" not in each
    )
    bare._loops.clear()
    code = inline.hoisted(text.encode(), "bare.py")
    return code, bare.at("bare.py", line)


@scripts(BARE)
def test_it_is_the_same_program_and_known(body):
    code, found = loop_of(body)
    assert found is not None
    plain, changed, _ = both(STEP + textwrap.dedent(body))
    assert changed is not None
    assert {name: plain[name] for name in changed} == changed
    run(code)
    assert found.body is not None
    assert not found.direct  # it is no dataset


@scripts(NOT_BARE)
def test_what_is_not_bare_is_left_alone(body):
    _, found = loop_of(body)
    assert found is None


def test_the_body_takes_what_it_uses_of_an_element():
    _, found = loop_of(BARE["nested elements"])
    assert found.arguments((1, (2, 3))) == (1, 2)


def test_a_step_in_the_loop_itself_may_be_bare_too():
    body = """\
    for x in (1.0, 2.0):
        with tf.GradientTape() as tape:
            loss = x * weights[0]
        grads = tape.gradient(loss, weights)
        apply(zip(grads, range(2)))
    last = loss
    """
    assert loop_of(body)[1] is not None
    assert loop_of(body.replace("apply(", "told.append(1); apply("))[1] is None
