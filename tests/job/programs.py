"""Random scripts with a training step in a loop, and all that can be seen of a run.

No TensorFlow: the tape is a class of the script's own, so that thousands run in a
minute. They print, log, raise, delete, capture, and look at themselves in every way
that a script may.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import logging
import re
import textwrap
import traceback
import types
from dataclasses import dataclass, field

from hypothesis import reject
from hypothesis import strategies as st

from feedline.job.source import definitions

PATH = "/somewhere/train.py"

HEAD = """\
import contextlib
import logging
import sys

logger = logging.getLogger("train")
weights, rate, told, kept = [1.0, 2.0], 0.5, [], []
scale = 0.25
DATA = (1.0, 2.0, 3.0, 4.0)


class Tape:
    def __enter__(self):
        told.append("enter")
        return self

    def __exit__(self, *error):
        told.append(error[0] and error[0].__name__)

    def gradient(self, loss, variables):
        told.append(("gradient", loss))
        return [loss + one for one in variables]


class tf:
    GradientTape = Tape


class Metric:
    total = 0.0

    def update_state(self, value):
        Metric.total += value


metric = Metric()


def apply(pairs):
    for gradient, place in pairs:
        weights[place] -= rate * gradient
    if weights[0] < -1e6:
        weights[:] = [1.0, 2.0]


def model(x):
    told.append(("model", x))
    return x * weights[0] + weights[1]


def fails(x, at=3.0):
    if x == at:
        raise ValueError(f"no {x}")
    return x


@contextlib.contextmanager
def quiet():
    try:
        yield
    except ZeroDivisionError:
        told.append("quiet")
"""

HELPERS = {
    "reads_loss": "def reads_loss():\n    return loss * 2.0\n",
    "reads_x": "def reads_x():\n    return x + 1.0\n",
    "sets_scale": (
        "def sets_scale():\n    global scale\n    scale += 1.0\n    return scale\n"
    ),
}
BEFORE = [
    "x = x + 1.0",
    "h = x * 0.5",
    "import math",
    "scale = x",
    "if x == 2.0:\n    continue",
    "if x == 3.0:\n    break",
    "loss = None",
    "with contextlib.suppress(NameError):\n    h = h",
    "def h():\n    return x",
    "try:\n    fails(x)\nexcept ValueError as h:\n    kept.append(str(h))",
    "class h:\n    size = x",
    "print('before', x)",
    "match x:\n    case 1.0 as h:\n        pass\n    case other:\n        kept.append(other)",
    "gen = (loss for _ in range(1))",
    "kept.append(lambda: loss)",
]
FIRST = [
    *["loss = model(x)"] * 4,
    "loss = model(x) * scale",
    "loss = fails(x)",
    "loss = h * 2.0",
    "loss = sum([x * w for w in weights])",
    "loss = {w: x for w in weights}[weights[0]]",
    "loss: object = model(x)",
    "(loss, b), *c = (model(x), x), 1, 2",
    "loss = x if x < 2.0 else model(x)",
    "loss = x + (1.0 < x < 3.0)",
    "loss = reads_x()",
    "loss = epoch + x",
]
INSIDE = [
    "loss = loss * 2.0",
    "loss += 1.0",
    "if x > 1.5:\n    loss = loss - 1.0",
    "if x > 1.5:\n    extra = loss",
    "for w in weights:\n    loss = loss + w",
    "for w in ():\n    never = w",
    "extra = loss + scale",
    "extra = fails(x, at=4.0)",
    "fails(loss, at=0.0)",
    "extra = [loss for loss in (x, x)]",
    "if (n := x) > 2.0:\n    loss = n",
    "extra = lambda: loss",
    "extra = sum(loss for _ in range(2))",
    "print('inside', loss)",
    "logger.warning('inside %s', loss)",
    "kept.append(loss)",
    "extra = sets_scale() + scale",
    "loss = reads_loss()",
    "with quiet():\n    extra = x / 0",
    "with quiet():\n    loss = 1.0 / (x - 2.0)",
    "loss = loss if never else x",
    "del h",
    "loss = max(loss, best)",
    "logger.log(30, 'x')",
]
STEP = [
    "apply(zip(grads, range(2)))",
    "apply([(g, n) for n, g in enumerate(grads)])",
    "metric.update_state(loss)",
    "for n, g in enumerate(grads):\n    metric.update_state(g)",
    "extra = fails(x, at=2.0)\nmetric.update_state(extra)",
    "grads = [g * rate for g in grads]",
    "shown = loss * 1.0\nmetric.update_state(shown)",
    "apply(zip(tape.gradient(loss, weights), range(2)))",
]
AFTER = [
    "print('loss', loss)",
    "kept.append(loss)",
    "count += 1",
    "best = min(best, loss)",
    "if loss > 4.0:\n    break",
    "if loss > 4.0:\n    continue",
    "kept.append(lambda: (x, loss))",
    "def later():\n    return grads\nkept.append(later)",
    "kept.append([loss for _ in range(2)])",
    "kept.append(list(loss + i for i in range(2)))",
    "del loss",
    "del tape",
    "del grads",
    "logger.warning('after %s', loss)",
    "try:\n    fails(x, at=4.0)\nexcept ValueError as loss:\n    pass",
    "try:\n    fails(x)\nfinally:\n    kept.append(loss)",
    "scale = loss",
    "loss += 1.0",
    "x = loss",
    "if (shown := loss) > 1.0:\n    kept.append(shown)",
    "assert loss < 90.0, loss",
    "kept.append(reads_loss())",
    "print(f'{loss!r:>8} {x}')",
]
LOOKING = [
    "print(sorted(locals()))",
    "print(sorted(set(globals()) - {'__builtins__'}))",
    "print(sorted(vars()))",
    "print(dir())",
    "print(eval('loss'))",
    "exec('loss = 7.0')",
    "print(sys._getframe().f_code.co_name, sys._getframe().f_lineno)",
    "import inspect\nprint(inspect.currentframe().f_lineno)",
    "import traceback\nprint([f.lineno for f in traceback.extract_stack()][-1:])",
    "print(sorted(getattr(sys, '_getframe')().f_locals))",
    "print(sorted(vars(metric)))",
]
LOOPS = [
    *["for x in DATA:"] * 4,
    "for number, x in enumerate(DATA):",
    "for x, _ in zip(DATA, DATA):",
    "for x in (\n    DATA\n):",
    "batches = iter(DATA)\nwhile (x := next(batches, None)) is not None:",
    "batches = iter(DATA)\nfor _ in range(3):\n    x = next(batches)",
]
AROUND = [
    *["{}"] * 6,
    "try:\n    {}\nexcept ValueError as error:\n    print('caught', error, kept)",
    "try:\n    {}\nexcept ValueError:\n    print('caught', loss)",
    "try:\n    {}\nfinally:\n    print('finally', kept[-1:])",
    "try:\n    {}\nexcept KeyboardInterrupt:\n    pass",
    "with quiet():\n    {}",
    "if rate:\n    {}",
]
SCOPES = {
    "top": "{}",
    "guard": 'if __name__ == "__main__":\n    {}',
    "function": "def main(scale, best=9.0):\n    count, h = 0, 3.0\n    {}\n"
    "    return count\n\n\nresult = main(0.5)",
    "method": "class Base:\n    def run(self):\n        return 2.0\n\n\n"
    "class Trainer(Base):\n    __size = 1.5\n\n    def run(self):\n"
    "        best, count, h, self.seen = 9.0, 0, 1.0, []\n        {}\n"
    "        return super().run() + count\n\n\nresult = Trainer().run()",
    "nested": "def outer(best):\n    count, h, loss = 0, 1.0, 5.0\n\n    def bump():\n"
    "        nonlocal count\n        count += 1\n\n    def main():\n"
    "        nonlocal best, count\n        bump()\n        {}\n        return best\n\n"
    "    return main(), count, loss\n\n\nresult = outer(9.0)",
    "generator": "def main():\n    best, count, h = 9.0, 0, 1.0\n    {}\n    yield best\n"
    "\n\nresult = [each for each in main()]",
    "shared": "def main(scale, best=9.0):\n    count, h, loss = 0, 3.0, 1.0\n\n"
    "    def peek():\n        return loss, h\n\n    {}\n    return peek()\n\n\n"
    "result = main(0.5)",
    "global": "def main():\n    global loss, count\n    best, h = 9.0, 1.0\n    {}\n"
    "    return best\n\n\nresult = main()",
    "recursive": "def main(depth, best=9.0):\n    count, h = 0, 1.0\n"
    "    if depth:\n        main(depth - 1)\n    {}\n    return count\n\n\n"
    "result = main(1)",
    "class body": "class Holder:\n    best, count, h = 9.0, 0, 1.0\n    {}",
    "async": "async def main():\n    best, count, h = 9.0, 0, 1.0\n    {}\n"
    "    return best\n\n\ntry:\n    main().send(None)\nexcept StopIteration as end:\n"
    "    result = end.value",
}
AT_THE_END = [
    "",
    "print('end', loss)",
    "print([f() if callable(f) else f for f in kept])",
    "print(told[-3:])",
    "del loss\nprint(scale)",
]


def indented(text: str, by: int = 4) -> str:
    return textwrap.indent(text, " " * by)


def put(frame: str, text: str) -> str:
    """With the text where the braces stand, as deep."""
    line = next(line for line in frame.splitlines() if line.strip() == "{}")
    depth = len(line) - len(line.lstrip())
    return frame.replace(line, indented(text, depth))


# Where a step that runs elsewhere would show, if nobody saw to it.
TRAPS = [
    {"inside": "loss = loss + reads_loss()"},
    {"inside": "extra = reads_loss()", "after": "kept.append(extra)"},
    {"step": "metric.update_state(reads_loss())"},
    {"inside": "extra = peek()", "after": "kept.append(extra)", "scope": "shared"},
    {"first": "loss = sum(peek())", "scope": "shared"},
    {"before": "h = x * 0.5", "first": "loss = peek()[1]", "scope": "shared"},
    {"inside": "if x > 1.5:\n    extra = loss", "after": "kept.append(extra)"},
    {"inside": "for w in weights[2:]:\n    extra = w", "after": "print(extra)"},
    {"before": "scale = x", "inside": "extra = sets_scale()\nloss = loss * scale"},
    {"before": "best = x", "inside": "extra = bump()\nloss = best", "scope": "nested"},
    {"before": "count = x", "first": "bump()\nloss = count * 1.0", "scope": "nested"},
    {"first": "with quiet():\n    loss = 1.0 / (x - 2.0)"},
    {
        "first": "with quiet():\n    loss = x\n    h = 1.0 / (x - 3.0)",
        "after": "print(h)",
    },
    {"inside": "extra = lambda: loss", "after": "loss += 1.0\nkept.append(extra())"},
    {"inside": "extra = (loss for _ in 'ab')", "after": "loss = 3\nprint(list(extra))"},
    {"inside": "if (n := x) > 2.0:\n    loss = n", "after": "kept.append(n)"},
    {"first": "loss: object = model(x)", "scope": "top"},
    {"first": "loss = loss + x", "start": "loss = x = 5.0"},
    {"inside": "extra = [loss for loss in (x, x)]", "after": "print(loss, extra)"},
    {"inside": "extra = self.__size * x", "scope": "method"},
    {"inside": "extra = super().run() + loss", "scope": "method"},
    {
        "inside": "extra = __class__.__name__",
        "after": "print(extra)",
        "scope": "method",
    },
    {"inside": "self.seen.append(loss)", "scope": "method"},
    {"after": "kept.append(tape.gradient(loss, weights))"},
    {"after": "del tape"},
    {
        "after": "del loss",
        "around": "try:\n    {}\nexcept NameError:\n    print('gone')",
    },
    {"first": "loss = fails(x)", "around": AROUND[-6]},
    {"step": "metric.update_state(fails(x))", "around": AROUND[-5]},
    {"step": "metric.update_state(fails(x))", "around": AROUND[-4]},
    {"first": "loss = fails(x)", "after": "print(loss)"},
    {
        "before": "try:\n    fails(x)\nexcept ValueError as h:\n    pass",
        "first": "loss = h",
    },
    {"before": "if x == 2.0:\n    del h", "first": "loss = h * 2.0"},
    {"before": "def h():\n    return x", "first": "loss = h() * 1.0"},
    {"before": "import math", "first": "loss = math.sqrt(x)"},
    {"before": "from math import sqrt as h", "first": "loss = h(x)"},
    {
        "before": "match x:\n    case [*h]:\n        pass\n    case h:\n        pass",
        "first": "loss = h",
    },
    {"before": "kept.append(lambda: loss)", "after": "print(kept[-1]())"},
    {"before": "gen = (loss for _ in range(1))", "inside": "extra = list(gen)"},
    {"before": "sum = max", "inside": "extra = sum(x, 2.0)", "after": "print(extra)"},
    {"inside": "extra = locals", "after": "print(sorted(extra()))"},
    {"after": "print(sorted(locals()))"},
    {"after": "x = loss", "end": "print(x)"},
    {
        "end": "print([f() if callable(f) else f for f in kept])",
        "after": "kept.append(lambda: (x, loss))",
    },
]
SINGLES = {
    "before": BEFORE,
    "first": FIRST,
    "inside": INSIDE,
    "step": STEP,
    "after": [*AFTER, *LOOKING],
    "around": AROUND,
    "loop": LOOPS,
    "scope": list(SCOPES),
    "end": [*AT_THE_END, *LOOKING],
    "start": ["loss = x = 5.0"],
    "top": ['"""A script."""', "from __future__ import annotations"],
    "else": ["else:\n    print('else')"],
    "epochs": ["for epoch in range(2):\n    {}\n    print('epoch', epoch, x)"],
    "gradient": ["grads = tape.gradient(fails(loss, at=1.0), weights)"],
}
ALL = [{slot: each} for slot, choices in SINGLES.items() for each in choices]
ONE = {
    "first": "loss = model(x)",
    "gradient": "grads = tape.gradient(loss, weights)",
    "loop": "for x in DATA:",
    "around": "{}",
    "epochs": "{}",
    "scope": "top",
}


def chosen_from(features) -> dict[str, list[str]]:
    chosen: dict[str, list[str]] = {slot: [] for slot in SINGLES}
    for feature in features:
        for slot, text in feature.items():
            chosen[slot].append(text)
    for slot, text in ONE.items():
        chosen[slot] = chosen[slot][:1] or [text]
    del chosen["else"][1:]
    return chosen


@st.composite
def programs(draw) -> str:
    """One or no trap, and a few other things that scripts do."""
    traps = draw(st.lists(st.sampled_from(TRAPS), max_size=1))
    more = draw(st.lists(st.sampled_from(ALL), max_size=4))
    scopes = draw(st.lists(st.sampled_from([*SCOPES]), max_size=1))
    text = program(chosen_from([*traps, *more, *({"scope": s} for s in scopes)]))
    try:
        compile(text, PATH, "exec", dont_inherit=True)
    except SyntaxError:
        reject()
    return text


def program(chosen: dict[str, list[str]]) -> str:
    inside = [*chosen["first"], *chosen["inside"]]
    scope = chosen["scope"][0]
    body = [
        *chosen["before"],
        "with tf.GradientTape() as tape:\n" + indented("\n".join(inside)),
        *chosen["gradient"],
        *chosen["step"],
        *chosen["after"],
        *(["yield loss"] if scope == "generator" else []),
    ]
    loop = "\n".join([*chosen["loop"], indented("\n".join(body)), *chosen["else"]])
    text = put(chosen["epochs"][0], loop)
    text = put(SCOPES[scope], put(chosen["around"][0], text))
    used = [made for name, made in HELPERS.items() if name in text]
    return "\n".join(
        [
            *chosen["top"],
            "\n\n".join([HEAD, *used]),
            "best, count, h, epoch = 9.0, 0, 3.0, 0",
            *chosen["start"],
            text,
            *chosen["end"],
            "",
        ]
    )


@dataclass
class Seen:
    """All that can be told from outside."""

    output: str = ""
    logged: list = field(default_factory=list)
    error: tuple | None = None
    frames: list = field(default_factory=list)
    names: dict = field(default_factory=dict)


class Listening(logging.Handler):
    def __init__(self, logged) -> None:
        super().__init__()
        self.logged = logged

    def emit(self, record) -> None:
        told = (record.funcName, record.lineno, record.pathname, record.getMessage())
        self.logged.append(told)


def run(code: types.CodeType, text: str, **given) -> Seen:
    lines = text.splitlines(keepends=True)
    linecache.cache[PATH] = (len(text), None, lines, PATH)
    main = types.ModuleType("__main__")
    vars(main).update(given)
    seen, output = Seen(), io.StringIO()
    handler = Listening(seen.logged)
    logger = logging.getLogger("train")
    logger.propagate = False
    logger.addHandler(handler)
    try:
        with contextlib.redirect_stdout(output):
            exec(code, main.__dict__)
    except Exception as error:
        seen.error = (type(error), str(error))
        seen.frames = _frames(error)
    finally:
        logger.removeHandler(handler)
    seen.output = re.sub("0x[0-9a-f]+", "0x", output.getvalue())
    del main.__builtins__
    seen.names = {
        name: _shown(value) for name, value in vars(main).items() if name not in given
    }
    return seen


def _frames(error: BaseException) -> list[tuple[str, int]]:
    """The script's; where a step ran aside, its frame stands for the loop's."""
    found: list[tuple[str, int]] = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename != PATH:
            continue
        if frame.f_code in definitions.made:
            found.pop()
        found.append((frame.f_code.co_name, line))
    return found


def _shown(value, deep: int = 0):
    if isinstance(value, list | tuple) and deep < 3:
        return [_shown(each, deep + 1) for each in value]
    if isinstance(value, type):
        return (value.__name__, sorted(vars(value)))
    if type(value) is dict and deep < 3:
        return {k: _shown(v, 3) for k, v in value.items() if k != "__builtins__"}
    if isinstance(value, types.FunctionType):
        return (value.__qualname__, value.__code__.co_firstlineno)
    if isinstance(value, types.ModuleType | logging.Logger):
        return str(type(value))
    if type(value).__module__ == "__main__":
        return (
            type(value).__qualname__,
            {k: _shown(v, 3) for k, v in vars(value).items()},
        )
    if hasattr(value, "__dict__") or type(value).__name__ in ("generator", "dict"):
        return str(type(value))
    return repr(value) if "0x" not in repr(value) else str(type(value))


def untouched(code: types.CodeType) -> dict:
    """All code in it that no step was led out of, by name and line."""
    return {
        (each.co_name, each.co_firstlineno): each
        for each in definitions.all_codes(code)
        if each not in definitions.rewritten
    }
