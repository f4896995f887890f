"""Where the examples are, and their confusion table."""

from __future__ import annotations

from pathlib import Path

from tests.verdicts import tier

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def pytest_terminal_summary(terminalreporter):
    tier.print_table(terminalreporter, EXAMPLES)
