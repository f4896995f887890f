"""The tier of the examples, and their confusion table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verdicts import tier

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
DEFAULT = frozenset({"embedding_large_vocabulary"})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    tier.choose(config, items, HERE, DEFAULT)


def pytest_terminal_summary(terminalreporter):
    tier.print_table(terminalreporter, EXAMPLES)
