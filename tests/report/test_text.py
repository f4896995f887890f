"""Foreign text made harmless, and numbers as a person reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from feedline.report import format as say
from feedline.report.text import printable, printable_lines, shorten


@given(st.text() | st.text(st.characters(categories=["Cs", "Cc", "Cf"])))
def test_printable_is_one_harmless_line(text):
    assert all(c.isprintable() for c in printable(text))
    assert printable(text, "ascii").isascii()


def test_escapes_say_what_was_there():
    assert printable("a\tb\n  c") == "a b c"
    assert printable("\x1b[31m\u202e") == "\\x1b[31m\\u202e"
    assert printable("é", "ascii") == "\\xe9"


def test_lines_and_indents_are_kept():
    assert printable_lines("a\n  b\x1b\n") == "a\n  b\\x1b"


@given(st.text(), st.integers(0, 40))
def test_shorten_keeps_to_the_width(text, width):
    assert cell_len(shorten(printable(text), width)) <= width


def test_shorten_takes_from_the_middle():
    assert shorten("/home/somebody/train.py:41", 13) == "/home...py:41"


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (say.ms(0.0), "0 ms"),
        (say.ms(0.034), "0.034 ms"),
        (say.ms(84.23), "84.2 ms"),
        (say.ms(12400.0), "12,400 ms"),
        (say.ms(None), "? ms"),
        (say.seconds(8.14), "8.1 s"),
        (say.seconds(312.0), "312 s"),
        (say.seconds(1800.0), "30 min"),
        (say.seconds(9000.0), "2.5 h"),
        (say.percent(0.874), "87 %"),
        (say.percent(0.001), "<1 %"),
        (say.times(9.25), "9.2 x"),
    ],
)
def test_numbers(got, wanted):
    assert got == wanted
