"""The public names, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import feedline

HEAVY = ("tensorflow", "keras", "numpy", "rich", "numba", "pyarrow", "jinja2")


def test_the_public_names_are_these():
    assert feedline.__all__ == [
        "FeedlineError",
        "Monitor",
        "Report",
        "__version__",
        "tune",
        "why",
        "words",
    ]
    assert set(feedline.__all__) <= set(dir(feedline))


@pytest.mark.parametrize("name", feedline.__all__)
def test_every_public_name_can_be_had(name):
    assert getattr(feedline, name) is not None


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = feedline.nonsense


@pytest.mark.parametrize(
    "program",
    [
        "import feedline",
        "from feedline import Report",
        "from feedline import causes; causes.all()",
        "from feedline.cli.main import app; app(['--help'], standalone_mode=False)",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(program):
    check = f"import sys; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{check}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
