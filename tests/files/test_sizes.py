"""Bytes as text: one unit system for all that users read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline.files.sizes import size


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (21_504, "21.5 kB"),
        (602_112, "602 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (1.2e9, "1.2 GB"),
        (5e12, "5.0 TB"),
        (5e18, "5,000,000 TB"),
        (None, "?"),
        (math.nan, "?"),
        (math.inf, "?"),
        (-1, "?"),
    ],
)
def test_sizes(count, expected):
    assert size(count) == expected


@given(st.integers(1, 10**15))
def test_the_text_says_the_number(count):
    number, unit = size(count).split()
    scale = 1000 ** ("B", "kB", "MB", "GB", "TB").index(unit)
    assert float(number.replace(",", "")) * scale == pytest.approx(count, rel=0.051)
