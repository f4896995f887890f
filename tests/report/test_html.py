"""The HTML page, without a browser: one file, everything escaped, nothing fetched."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from hypothesis import given, settings

from feedline.errors import FeedlineError, OutputExists
from feedline.report import html
from feedline.report.html.page import in_a_block
from feedline.report.html.timeline import MOST_SPANS
from feedline.report.json import from_json, to_json
from feedline.report.report import RunRow, SpanRow, Timeline, TimelineRow
from tests.report.pages import HOSTILE, captured, cured, hostile, measured, wide
from tests.report.samples import reports, sample

REPORTS = {
    "sample": sample(),
    "measured": measured(),
    "cured": cured(),
    "captured": captured(),
    "wide": wide(),
    "bare": sample(stages=(), findings=(), run=RunRow(0.0, 0.0, 0.0, None)),
}


LIBRARY = (
    files("feedline.report.html")
    .joinpath("vendor/echarts/echarts.min.js")
    .read_text("utf-8")
)


class Page(HTMLParser):
    """What a browser would see: elements, their ids, the text, the scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[tuple[str | None, str]] = []
        self._in: list[str] = []
        self.feed(text.replace(LIBRARY, ""))  # a megabyte, the same in every page
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._in.append(tag)
            self.scripts.append((dict(attrs).get("type"), ""))

    def handle_endtag(self, tag):
        if tag in ("script", "style") and self._in:
            self._in.pop()

    def handle_data(self, data):
        if self._in:
            kind, before = self.scripts[-1]
            self.scripts[-1] = (kind, before + data)
        else:
            self.text += data

    @property
    def ids(self) -> set[str | None]:
        return {attributes.get("id") for _, attributes in self.tags}

    def data(self, name: str) -> str:
        wanted = [a for t, a in self.tags if t in ("script", "style")]
        place = next(i for i, a in enumerate(wanted) if a.get("id") == name)
        return self.scripts[place][1]


@pytest.mark.parametrize("name", REPORTS)
def test_the_page_holds_the_whole_report(name):
    report = REPORTS[name]
    page = Page(html.render(report))
    assert from_json(page.data("feedline-report")) == from_json(to_json(report))


@pytest.mark.parametrize("name", REPORTS)
def test_the_page_is_one_small_file_that_fetches_nothing(name):
    text = html.render(REPORTS[name])
    assert len(text.encode()) < 5_000_000
    page = Page(text)
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base", "img")
        assert "src" not in attributes
        target = attributes.get("href") or "#"
        assert target.startswith("#"), target
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


@given(reports())
@settings(max_examples=15, deadline=None)
def test_every_report_can_be_shown(report):
    can_be_shown(report)


@pytest.mark.slow
@given(reports())
@settings(max_examples=200, deadline=None)
def test_many_more_reports_can_be_shown(report):
    can_be_shown(report)


def can_be_shown(report):
    page = Page(html.render(report))
    assert "feedline-report" in page.ids
    assert page.data("feedline-view")


@pytest.mark.parametrize("report", [cured(), captured(), wide()])
def test_hostile_text_stays_text(report):
    spoilt = hostile(report)
    text = html.render(spoilt)
    text.encode()  # no lone surrogate is left
    plain, page = Page(html.render(report)), Page(text)
    kinds = [tag for tag, _ in plain.tags]
    assert [tag for tag, _ in page.tags if tag != "code"] == [
        tag for tag in kinds if tag != "code"
    ]
    assert not any(name.startswith("on") for _, a in page.tags for name in a)
    body = text[text.index("<body") : text.index('<script type="application/json"')]
    assert "alert(1)" in body
    for raw in ("<img", "<script", "\u2028", "\u202e", "\x00", "\x1b"):
        assert raw not in body
    assert "7 * 7" in body  # not computed
    assert from_json(page.data("feedline-report")) == from_json(to_json(spoilt))
    for block in (page.data("feedline-report"), page.data("feedline-view")):
        assert not re.search("[<>&\u2028\u2029]", block)
        json.loads(block)
    assert "\\u202e" not in page.data("feedline-view").replace("\\\\u202e", "")


def test_a_block_of_json_says_the_same():
    value = [HOSTILE.replace("\ud800", ""), "</script>", "<!--", "&lt;", "\u2028"]
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        block = str(in_a_block(text))
        assert json.loads(block) == value
        assert not re.search("[<>&\u2028\u2029]", block)


def test_only_the_page_s_own_scripts_may_run():
    text = html.render(hostile(cured()))
    policy = next(
        a["content"] for _, a in Page(text).tags if a.get("http-equiv") is not None
    )
    assert policy is not None
    assert "default-src 'none'" in policy
    allowed = policy.split("script-src ")[1].split(";")[0].split()
    bodies = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    assert len(bodies) == 4
    digests = [hashlib.sha256(body.encode()).digest() for body in bodies]
    assert allowed == [f"'sha256-{base64.b64encode(d).decode()}'" for d in digests]


def test_what_the_report_lacks_is_left_out():
    present = Page(html.render(cured())).ids
    assert {"fixes", "pipeline", "whatif", "run", "proof"} <= present
    assert "timeline" not in present
    seen = Page(html.render(captured())).ids
    assert "timeline" in seen
    assert not {"fixes", "pipeline", "whatif"} & seen
    bare = Page(html.render(REPORTS["bare"]))
    assert not {"fixes", "pipeline", "timeline", "whatif", "run", "proof"} & bare.ids
    assert "No known cause of slowness was found." in bare.text


def test_sections_that_are_there_are_in_the_contents():
    page = Page(html.render(cured()))
    links = {
        a["href"] for t, a in page.tags if t == "a" and a.get("href") != "#verdict"
    }
    sections = {f"#{a['id']}" for t, a in page.tags if t == "section"}
    assert links - {"#feedline-report"} == sections - {"#verdict"}


def test_a_person_reads_the_verdict_the_lines_and_the_proof():
    text = " ".join(Page(html.render(cured())).text.split())
    assert "The model waits for input 87 % of the time" in text
    assert "84.2 ms" in text
    assert "train.py:41files.map(load)" in text
    assert "With the fixes: cached after the first epoch" in text
    assert "512 batches compared bit for bit" in text
    assert "3.40 to 4.30" in text


def test_what_was_not_measured_is_no_error():
    step = replace(sample().step, observed_ms=math.nan, ceiling_ms=math.nan)
    text = html.render(cured(step=step))
    assert "? ms" in text
    assert "NaN" not in Page(text).data("feedline-view")


def test_a_joint_of_two_branches_is_told():
    text = " ".join(Page(html.render(wide())).text.split())
    assert "fed by map(function_9) and map(function_19)" in text


def test_steps_end_where_the_lanes_do():
    timeline = captured().timeline
    assert timeline is not None
    longer = replace(timeline, steps=(*timeline.steps, (336.0, 900.0)))
    page = Page(html.render(captured(timeline=longer)))
    assert json.loads(page.data("feedline-view"))["stepEnds"] == [84, 168, 252, 336]


def test_a_large_capture_makes_no_large_page():
    spans = tuple(
        SpanRow(i * 1.0, i + 0.1 + (i % 7) / 10, "compute", f"a kernel's name {i}")
        for i in range(20_000)
    )
    rows = tuple(TimelineRow(f"GPU:{i}", spans) for i in range(8))
    page = Page(html.render(captured(timeline=Timeline(rows))))
    assert len(page.data("feedline-report")) + len(page.data("feedline-view")) < 2e6
    drawn = json.loads(page.data("feedline-view"))["lanes"]
    assert sum(len(lane["spans"]) for lane in drawn) <= MOST_SPANS
    assert all(span[1] - span[0] > 0.65 for span in drawn[0]["spans"])
    assert drawn[0]["totals"]["compute"] == pytest.approx(
        sum(span.end_ms - span.start_ms for span in spans)
    )
    assert "19,250 shortest spans are not drawn" in page.text


# ------------------------------------------------------------------ the file


def test_it_is_written_whole_and_an_earlier_page_is_replaced(tmp_path):
    path = tmp_path / "r.html"
    assert sample().to_html(path) == path.read_text("utf-8")
    cured().to_html(path)
    assert "Fixes that were tried" in path.read_text("utf-8")
    assert [each.name for each in tmp_path.iterdir()] == ["r.html"]
    assert sample().to_html() == html.render(sample())


@pytest.mark.parametrize("foreign", ["<!doctype html><p>mine</p>", "notes", "{}"])
def test_a_foreign_file_is_not_overwritten(tmp_path, foreign):
    path = tmp_path / "r.html"
    path.write_text(foreign, "utf-8")
    with pytest.raises(OutputExists, match="is not a feedline page"):
        sample().to_html(path)
    assert path.read_text("utf-8") == foreign
    sample().to_html(path, force=True)
    assert path.read_text("utf-8").startswith("<!doctype html>")


def test_a_place_that_is_not_there_is_one_clear_sentence(tmp_path):
    with pytest.raises(FeedlineError, match="there is no directory"):
        sample().to_html(tmp_path / "no" / "r.html")
    with pytest.raises(FeedlineError, match="it is a directory"):
        sample().to_html(tmp_path)


# --------------------------------------------------------------- the library


def test_the_charting_library_is_the_published_file():
    folder = files("feedline.report.html").joinpath("vendor")
    known = json.loads(folder.joinpath("vendored.json").read_text("utf-8"))
    for name, library in known.items():
        for path, file in library["files"].items():
            content = folder.joinpath(path).read_bytes()
            assert hashlib.sha256(content).hexdigest() == file["sha256"]
        for licence in ("LICENSE", "NOTICE"):
            assert folder.joinpath(name, licence).is_file()
