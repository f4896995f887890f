"""The files that a report is saved to: `--json FILE`, `--html FILE`.

Their places are settled before anything is run: a script may change its directory,
and nobody waits a minute to learn that a name was misspelt.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from feedline.report.report import Report


def outputs(
    json: Path | None, html: Path | None, *, force: bool
) -> Callable[[Report], None]:
    """Check both, and give what saves a report to them."""
    from feedline.errors import FeedlineError
    from feedline.report import json as report_json

    saved_json = None if json is None else report_json.check_target(json, force=force)
    saved_html = None
    if html is not None:
        from feedline.report import html as report_html

        saved_html = report_html.check_target(html, force=force)
        if saved_html == saved_json:
            raise FeedlineError(f"--json and --html both name {html}; give two names")

    def save(report: Report) -> None:
        if saved_json is not None:
            report_json.save(report, saved_json, force=force)
        if saved_html is not None:
            report.to_html(saved_html, force=force)

    return save
