"""The tier of the planted jobs, and their confusion table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verdicts import tier

HERE = Path(__file__).resolve().parent
JOBS = HERE / "jobs"
DEFAULT = frozenset({"serial_map", "serial_map_cured", "healthy_fit"})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    tier.choose(config, items, HERE, DEFAULT)


def pytest_terminal_summary(terminalreporter):
    tier.print_table(terminalreporter, JOBS)
