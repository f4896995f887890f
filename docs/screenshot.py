"""The picture of a page for the documentation.

    feedline run --allow numeric --html a.html examples/embedding_large_vocabulary.py
    python docs/screenshot.py a.html docs/images/report.png --to findings
    feedline run --html b.html examples/tfrecord_cache_wrong.py
    python docs/screenshot.py b.html docs/images/pipeline.png \\
        --from pipeline --to whatif

Opens the page in Chromium and saves it, or its sections from one to another. `--dark`
and `--width N` show it otherwise.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--width", type=int, default=900)
    parser.add_argument("--from", dest="first", metavar="SECTION")
    parser.add_argument("--to", dest="last", metavar="SECTION", default="about")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium here: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--headless", "--no-sandbox"]
        )
        page = browser.new_page(
            viewport={"width": options.width, "height": 900},
            color_scheme="dark" if options.dark else "light",
        )
        page.goto(options.page.resolve().as_uri())
        edges = "id => document.getElementById(id).getBoundingClientRect()"
        top = 0.0
        if options.first:
            top = page.evaluate(edges, options.first)["top"] - 8
        bottom = page.evaluate(edges, options.last)["bottom"] + 8
        clip = {"x": 0, "y": top, "width": options.width, "height": bottom - top}
        page.screenshot(path=options.picture, full_page=True, clip=clip)
        browser.close()


if __name__ == "__main__":
    main()
