"""One browser for all tests of the page. It goes with them: the processes of other
tests in this one are nobody else's."""

from __future__ import annotations

import pytest

from tests.browser import chromium


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started
