"""The files that a report is saved to: `--json FILE`, `--html FILE`.

Their places are settled before anything is run: a script may change its directory,
and nobody waits a minute to learn that a name was misspelt.
"""

from __future__ import annotations

import tempfile
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

    for given, target in ((json, saved_json), (html, saved_html)):
        if given is not None and target is not None:
            can_write(target, given)

    def save(report: Report) -> None:
        if saved_json is not None:
            report_json.save(report, saved_json, force=force)
        if saved_html is not None:
            report.to_html(saved_html, force=force)

    return save


def can_write(target: Path, given: Path) -> None:
    """Raise now what writing would raise later: permissions tell too little of a full
    disk, or of a file system that is read-only. `given` is what the user calls it."""
    from feedline.errors import FeedlineError

    if target.exists() and not target.is_file():
        return  # a pipe or a device: /dev/stdout
    try:
        with tempfile.TemporaryFile(dir=target.resolve().parent) as file:
            file.write(b"x")
    except OSError as error:
        reason = error.strerror or str(error)
        raise FeedlineError(f"cannot write {given}: {reason}") from None
