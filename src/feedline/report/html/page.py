"""The page, made of one template: style, scripts, library and data all inside it.

The data lie in blocks of JSON that no browser runs, with the characters escaped that
could end such a block. The policy names the digest of each script.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from feedline.files.sizes import size
from feedline.measure.profile.kinds import LABELS
from feedline.report import format as shown
from feedline.report.html.timeline import trimmed
from feedline.report.html.view import view
from feedline.report.json import finite, to_json
from feedline.report.report import Report
from feedline.report.text import printable

MARK = '<meta name="generator" content="feedline'

_SCRIPTS = (
    "vendor/echarts/echarts.min.js",
    "assets/whatif.js",
    "assets/charts.js",
    "assets/page.js",
)
_STYLES = ("assets/page.css", "assets/parts.css", "assets/print.css")


def render(report: Report) -> str:
    """The whole page as text."""
    scripts = [*map(_asset, _SCRIPTS)]
    seen = view(report)
    page = _environment().get_template("page.html.j2")
    return page.render(
        report=report,
        view=seen,
        style=Markup("\n".join(map(_asset, _STYLES))),
        scripts=[Markup(script) for script in scripts],
        policy=_policy(scripts),
        raw_json=in_a_block(to_json(_embedded(report), indent=None)),
        view_json=in_a_block(json.dumps(finite(seen.charts()), allow_nan=False)),
    )


def _embedded(report: Report) -> Report:
    """Without the measurement, which the page does not show."""
    timeline = report.timeline and trimmed(report.timeline)
    return replace(report, timeline=timeline, basis=None)


def in_a_block(text: str) -> Markup:
    """JSON text for a script element: nothing in it can end the element, and it is
    the same JSON."""
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)


def _policy(scripts: list[str]) -> str:
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(str(__package__), "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    for name in ("ms", "number", "seconds", "percent", "times"):
        environment.filters[name] = getattr(shown, name)
    environment.filters["size"] = size
    environment.filters["kind"] = lambda kind: LABELS.get(kind, kind)
    return environment


def _shown(value: Any) -> Any:
    """Text as it may be shown: no control character, nothing that turns a line."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value
