"""Loops with nothing but the step in them: which they are, and that several rounds may
go at once. The script is not touched for it."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import HealthCheck, given, settings
from tests.job import programs
from tests.job.programs import HEAD, PATH, SCOPES, TRAPS, chosen_from, program, run

from feedline.fixes.means.own_step import step_only_loop
from feedline.job.source import frames
from feedline.job.source.lines import user_frame

STEP = """\
def step(x, scale=1.0):
    with tf.GradientTape() as tape:
        loss = x * weights[0] * scale
    apply(zip(tape.gradient(loss, weights), range(2)))
    return loss

"""
BARE = {
    "one call": "for x in DATA:\n    loss = step(x)\nlast = loss\n",
    "nothing kept": "for x in DATA:\n    step(x)\n",
    "nested elements": """\
    for (x, (y, _)) in DATA:
        z = x + y
        loss = step(z, scale=rate)
    last = loss
    """,
    "in epochs, in a function": """\
    def main(scale):
        for epoch in range(2):
            for x in DATA:
                loss = step(x, scale)
            kept.append((epoch, loss))
        return x
    result = main(0.5)
    """,
    "over two lines": "for x in (\n    DATA\n):\n    loss = step(x)\n",
    "the step in the loop itself": """\
    for x in DATA:
        with tf.GradientTape() as tape:
            loss = x * weights[0]
        grads = tape.gradient(loss, weights)
        apply(zip(grads, range(2)))
    last = loss
    """,
}
NOT_BARE = {
    "a counter": "n = 0\nfor x in DATA:\n    step(x)\n    n += 1\n",
    "a list": "for x in DATA:\n    kept.append(step(x))\n",
    "a sum": "t = 0.0\nfor x in DATA:\n    t = t + step(x)\n",
    "printed": "for x in DATA:\n    print(step(x), end='')\n",
    "left": "for x in DATA:\n    step(x)\n    break\n",
    "gone through": "for x in DATA:\n    step(x)\nelse:\n    kept.append(1)\n",
    "the epoch": "for e in range(2):\n  for x in DATA:\n    loss = step(x, scale=e)\n",
    "kept sometimes": (
        "best = 9\nfor x in DATA:\n    loss = step(x)\n"
        "    if loss < 0:\n        best = loss\nlast = best\n"
    ),
    "an attribute": "for tf.x in DATA:\n    step(tf.x)\n",
    "no step": "for x in DATA:\n    y = x * 2\n",
    "a name of another scope": """\
    def main():
        global last
        for x in DATA:
            last = step(x)
    main()
    """,
    "read by the step": """\
    def reading():
        return step(x)
    for x in DATA:
        loss = reading()
    """,
    "captured": """\
    def main():
        def show():
            return loss
        for x in DATA:
            loss = step(x)
        return show()
    main()
    """,
    "numbered": "for n, x in enumerate(DATA):\n    step(x)\n",
}


class Batches:
    """Elements as a dataset would give them. Where the loop is bare, all but the last
    of `number` rounds are made before it gets one."""

    def __init__(self, elements=(1.0, 2.0, 3.0, 4.0, 5.0), number=1):
        self.elements, self.number = elements, number
        self.found, self.ahead = [], 0

    def __iter__(self):
        frame = user_frame(frames.sys._getframe(1))
        self.direct = frames.reads_directly(frame.f_code)
        return Rounds(self, list(self.elements))


class Rounds:
    def __init__(self, batches, waiting):
        self.batches, self.waiting = batches, waiting
        self.loop = self.known = None

    def __iter__(self):
        return self

    def __next__(self):
        batches = self.batches
        frame = frames.sys._getframe(1)
        if not self.known:
            self.known = True
            self.loop = (
                step_only_loop.of(frame, frame.f_lineno) if batches.direct else None
            )
            batches.found.append(self.loop)
        loop = self.loop
        if loop is not None and not frames.caught(frame):
            for _ in range(batches.number - 1):
                if len(self.waiting) > 1:
                    assert loop.unchanged()
                    batches.ahead += 1
                    loop.body(*loop.arguments(self.waiting.pop(0)))
        if not self.waiting:
            raise StopIteration
        return self.waiting.pop(0)


@pytest.fixture(autouse=True)
def only_the_script(monkeypatch):
    for module in (frames, __import__("feedline.job.source.lines", fromlist=["_"])):
        monkeypatch.setattr(module, "is_library", lambda filename: filename != PATH)


def seen(text, number, elements=(1.0, 2.0, 3.0, 4.0, 5.0)):
    batches = Batches(elements, number)
    text = text.replace("DATA = (1.0, 2.0, 3.0, 4.0)", "")
    code = compile(text, PATH, "exec", dont_inherit=True)
    return run(code, text, DATA=batches), batches


def scripts(cases):
    return pytest.mark.parametrize("body", cases.values(), ids=cases)


@scripts(BARE)
@pytest.mark.parametrize("number", [2, 3, 10])
def test_several_rounds_at_once_leave_the_same(body, number):
    elements = [((n + 1.0), ((n + 2.0), 0)) for n in range(5)]
    given = elements if "(y, _)" in body else (1.0, 2.0, 3.0, 4.0, 5.0)
    text = HEAD + STEP + textwrap.dedent(body)
    plain, _ = seen(text, 1, given)
    changed, batches = seen(text, number, given)
    assert changed == plain
    assert plain.error is None
    assert batches.ahead > 0


@scripts(NOT_BARE)
def test_what_is_not_bare_is_left_alone(body):
    text = HEAD + STEP + textwrap.dedent(body)
    plain, _ = seen(text, 1)
    changed, batches = seen(text, 3)
    assert changed == plain
    assert batches.found
    assert not any(batches.found)


def test_the_body_takes_what_it_uses_of_an_element():
    text = HEAD + STEP + textwrap.dedent(BARE["nested elements"])
    _, batches = seen(text, 1, [(1.0, (2.0, 3.0))])
    assert batches.found[0].arguments((1, (2, 3))) == (1, 2)


def test_it_tells_when_a_name_holds_something_else():
    body = """\
    def main(scale):
        for x in DATA:
            loss = step(x, scale)
        return loss
    half = 0.5
    main(half), main(half), main(0.25)
    """
    held = []

    class Asking(Batches):
        def __iter__(self):
            first = next((each for each in self.found if each), None)
            if first is not None:
                held.append(first.unchanged())
            return super().__iter__()

    text = HEAD.replace("DATA =", "NONE =") + STEP + textwrap.dedent(body)
    run(compile(text, PATH, "exec", dont_inherit=True), text, DATA=Asking())
    assert held == [True, False]


def same(text):
    try:
        plain, _ = seen(text, 1)
    except SyntaxError:
        return 0
    changed, batches = seen(text, 3)
    if changed.error is not None:
        for loop in filter(None, batches.found):
            for name in loop.changing:
                changed.names.pop(name, None)
                plain.names.pop(name, None)
    assert changed == plain
    return batches.ahead


@pytest.mark.parametrize("scope", SCOPES)
def test_no_trap_shows(scope):
    ahead = 0
    for trap in TRAPS:
        ahead += same(program(chosen_from([trap, {"scope": scope}])))
    if scope in ("top", "function", "method", "guard"):
        assert ahead > 0


def check(max_examples):
    counts = []

    @settings(
        max_examples=max_examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(programs.programs())
    def law(text):
        counts.append(same(text))

    law()
    assert sum(map(bool, counts)) > 0.05 * len(counts)


def test_nothing_can_be_told():
    check(200)


@pytest.mark.slow
def test_nothing_can_be_told_of_thousands():
    check(4_000)
