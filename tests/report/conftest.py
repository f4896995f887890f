"""One browser for all tests of the page."""

from __future__ import annotations

import pytest

from tests.browser import chromium


@pytest.fixture(scope="session")
def browser():
    with chromium() as started:
        yield started
