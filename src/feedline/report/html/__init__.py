"""A Report as one HTML page that opens offline: `render`, `save`, `check_target`.

page.py     the page: template, style, scripts, charting library, data, in one file
view.py     what the template shows, as plain data: words and numbers made ready
diagram.py  the pipeline as a diagram of its stages
timeline.py a few captured steps, lane by lane
assumptions.py  what the what-if model takes for granted
templates/  the page's sections; assets/ its style and scripts
vendor/     Apache ECharts as it was published, with its licence

Everything that came from the user's script is data. Text goes through `printable`,
which shows what would be invisible or turn the line around, and is then escaped by
the template; charts get it as JSON and draw it as text. The page's own policy lets
only its own scripts run, known by their digests, and lets nothing be fetched.
"""

from __future__ import annotations

import os
from pathlib import Path

from feedline.report import target
from feedline.report.html.page import MARK, render
from feedline.report.report import Report

__all__ = ["check_target", "render", "save"]


def check_target(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Where a page may be saved, as an absolute path; an error if it may not."""
    return target.check(path, ours=_replaceable, what="a feedline page", force=force)


def save(report: Report, path: str | os.PathLike[str], *, force: bool = False) -> str:
    """Write the page whole or not at all, and hand it back."""
    place, page = check_target(path, force=force), render(report)
    target.write(place, page, path)
    return page


def _replaceable(path: Path) -> bool:
    """An empty file, or one that begins as our pages do."""
    try:
        with path.open("rb") as file:
            start = file.read(1000)
    except OSError:
        return False
    return not start.strip() or (
        start.lstrip().lower().startswith(b"<!doctype html>") and MARK.encode() in start
    )
