"""Where the planted jobs are, and their confusion table."""

from __future__ import annotations

from pathlib import Path

from tests.verdicts import tier

JOBS = Path(__file__).resolve().parent / "jobs"


def pytest_terminal_summary(terminalreporter):
    tier.print_table(terminalreporter, JOBS)
