"""An option is written once: the function, the command and the docs say the same."""

from __future__ import annotations

import inspect
import re

import pytest
from docs import generate
from tests.cli.command import here

from feedline import words
from feedline.errors import TrainingError
from feedline.words import classify
from feedline.words.classify.options import Choices, Request
from feedline.words.engine.options import ModelOptions
from feedline.words.option import options
from feedline.words.training.options import Options

BOTH = [
    (("words", "train"), Options, words.train),
    (("words", "classify", "train"), Request, classify.train),
]


@pytest.mark.parametrize(("command", "table", "function"), BOTH)
def test_the_function_has_every_option(command, table, function):
    parameters = inspect.signature(function).parameters
    first, *others = parameters.values()
    assert first.kind is first.POSITIONAL_OR_KEYWORD
    assert all(other.kind is other.KEYWORD_ONLY for other in others)
    for name, option in options(table).items():
        assert parameters[name].default == option.default
    assert inspect.signature(function, eval_str=True)


@pytest.mark.parametrize(("command", "table", "function"), BOTH)
def test_the_help_has_every_option_under_its_heading(command, table, function):
    text = here(*command, "--help").stdout
    for name, option in options(table).items():
        flag = (option.flags or (f"--{name.replace('_', '-')}",))[0]
        section = re.search(
            rf"^{re.escape(option.group)}:\n((?:  .*\n)+)", text, re.MULTILINE
        )
        assert section is not None, option.group
        line = re.search(rf"^  {flag}\b.*\n(?:      .*\n)*", section[1], re.MULTILINE)
        assert line is not None, flag
        said = " ".join(line[0].split())
        assert option.help in said
        default = option.unless or option.default
        if not isinstance(default, bool) and default is not None:
            assert f"[default: {default}]" in said


@pytest.mark.parametrize(("command", "table", "function"), BOTH)
def test_the_docs_have_every_option(command, table, function):
    rows = generate.table(table).splitlines()
    for option in options(table).values():
        assert any(option.help in row for row in rows)
    page = f"before\n<!-- options of {'.'.join(command)} -->\nafter"
    assert generate.on_page_markdown(page) == "\n".join(["before", *rows, "after"])


@pytest.mark.parametrize(
    ("table", "owner"), [(ModelOptions, words.Config), (Choices, classify.Options)]
)
def test_a_value_out_of_bounds_is_named(table, owner):
    for name, option in options(table).items():
        if option.high < float("inf"):
            for value in (option.low - 1, option.high * 2 + 1, None, "1", True):
                with pytest.raises(TrainingError, match=f"{name} is {value!r}; it m"):
                    owner(**{name: value})
