"""A real Chromium for the tests that look at pages: Debian's, driven by Playwright.

Where there is none the tests are skipped, unless FEEDLINE_BROWSER=required, as in
`.ci/run`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    "--disable-sync",
)
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        missing = "no Chromium here: apt-get install chromium"
        if os.environ.get("FEEDLINE_BROWSER") == "required":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*FLAGS])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, path: Path, **context) -> Iterator[tuple[Page, list[str]]]:
    """A page from a file, and what went wrong in it: errors, warnings, whatever it
    wrote to the console, whatever it wanted from elsewhere."""
    wrong: list[str] = []
    own = path.as_uri()
    inside = browser.new_context(**context)
    page = inside.new_page()
    page.on("console", lambda said: wrong.append(f"console: {said.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (wrong.append("dialog"), dialog.dismiss()))
    page.on(
        "request",
        lambda asked: asked.url == own or wrong.append(f"request: {asked.url}"),
    )
    try:
        page.goto(own)
        yield page, wrong
    finally:
        inside.close()
