"""The HTML page in a real Chromium: it draws, the sliders work, nothing is wrong."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect as wait_for

from feedline.report.fitted import model_of
from feedline.report.json import from_json, to_json
from feedline.report.whatif import expect, need
from tests import browser as chromium
from tests.place import LIMIT
from tests.report.pages import captured, cured, hostile, measured, wide

pytestmark = pytest.mark.browser

PHONE = {"viewport": {"width": 360, "height": 740}}
DARK = {"color_scheme": "dark"}


@contextmanager
def opened(browser, path, **context):
    """With time for whatever is waited for, on however busy a machine."""
    with chromium.opened(browser, path, **context) as (page, wrong):
        page.set_default_timeout(1e3 * LIMIT)
        yield page, wrong


@pytest.fixture
def saved(tmp_path):
    def save(report):
        path = tmp_path / "report.html"
        report.to_html(path)
        return path

    return save


@pytest.mark.parametrize(
    ("report", "context"),
    [
        (measured(), {}),
        (cured(), DARK),
        (cured(), PHONE),
        (captured(), PHONE),
        (wide(25), {}),
        (wide(25), PHONE),
        (wide(1), DARK),
        (hostile(cured()), PHONE),
    ],
)
def test_it_draws_and_nothing_is_wrong(browser, saved, report, context):
    with opened(browser, saved(report), **context) as (page, wrong):
        assert page.evaluate("document.documentElement.dataset.drawn") == "yes"
        charts = page.locator("[data-chart]")
        assert charts.count() > 0
        assert page.locator("[data-chart] svg").count() == charts.count()
        width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0, "it must not scroll sideways"
        assert wrong == []


def test_hostile_text_is_shown_and_not_run(browser, saved):
    with opened(browser, saved(hostile(captured()))) as (page, wrong):
        assert "<script>alert(1)</script>" in page.inner_text("h1")
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert wrong == []


@pytest.mark.parametrize("report", [measured(), cured()], ids=["measured", "cured"])
def test_the_page_s_arithmetic_is_that_of_python(browser, saved, report):
    model = model_of(report)
    assert model is not None
    places = [(c, s, e) for c in (1, 2, 8, 96) for s in (0.5, 1, 10) for e in (1, 20)]
    with opened(browser, saved(report)) as (page, wrong):
        found = page.evaluate(
            """(places) => {
                const model = JSON.parse(
                    document.getElementById("feedline-view").textContent).model;
                return places.map(([cores, speed, epochs]) => ({
                    need: feedlineModel.need(model, speed),
                    expected: model.scenarios.map((scenario) =>
                        feedlineModel.expect(model, scenario, cores, speed, epochs)),
                }));
            }""",
            [list(place) for place in places],
        )
        assert wrong == []
    for (cores, speed, epochs), here in zip(places, found, strict=True):
        assert here["need"] == vars(need(model, speed))
        for scenario, theirs in zip(model.scenarios, here["expected"], strict=True):
            ours = vars(expect(model, scenario, cores, speed, epochs))
            assert {**theirs, "stages": tuple(theirs["stages"])} == ours


def test_the_sliders_work_with_the_keyboard(browser, saved):
    report = cured()
    model = model_of(report)
    assert model is not None
    with opened(browser, saved(report)) as (page, wrong):
        said = page.locator("#whatif-says")
        first = said.inner_text()
        assert "84.2 ms as it is" in first
        page.focus("#speed")
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        assert page.get_attribute("#speed", "aria-valuetext") == "10 times as fast"
        faster = expect(model, model.scenarios[0], 2, 10, 20)
        assert f"{faster.mean_ms:.1f} ms as it is" in said.inner_text()
        wanted = need(model, 10).cores
        assert f"need {wanted} cores" in said.inner_text()
        page.focus("#cores")
        page.keyboard.press("End")
        assert "With 128 cores" in said.inner_text()
        page.focus("#epochs")
        page.keyboard.press("Home")
        assert page.inner_text("#epochs-value") == "1"
        page.click("button[type=reset]")
        page.wait_for_function(
            "text => document.getElementById('whatif-says').innerText === text",
            arg=first,
        )
        assert wrong == []


def test_the_raw_json_can_be_saved(browser, saved):
    report = hostile(cured())
    with opened(browser, saved(report)) as (page, wrong):
        with page.expect_download() as waiting:
            page.click("#download")
        text = waiting.value.path().read_text("utf-8")
        assert waiting.value.suggested_filename == "feedline-report.json"
        assert from_json(text) == from_json(to_json(report))
        assert wrong == []


@pytest.mark.parametrize(
    ("report", "scheme"),
    [(cured(), "light"), (cured(), "dark"), (captured(), "light"), (wide(5), "dark")],
)
def test_it_is_accessible(browser, saved, report, scheme):
    """No finding of axe, which knows the rules for names, order and contrast."""
    context = {"color_scheme": scheme, "bypass_csp": True}
    with opened(browser, saved(report), **context) as (page, _):
        found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_it_prints(browser, saved):
    with opened(browser, saved(cured()), color_scheme="dark") as (page, wrong):
        page.emulate_media(media="print")
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == "rgb(255, 255, 255)"
        assert not page.is_visible("nav")
        page.wait_for_selector("text=Storage keeps up", state="visible")
        total = page.locator("[data-chart=bars] svg text").last
        wait_for(total).to_have_attribute("fill", "#000000", timeout=1e3 * LIMIT)
        assert page.pdf(format="A4").startswith(b"%PDF")
        page.emulate_media(media="screen")
        page.wait_for_selector("text=Storage keeps up", state="hidden")
        assert wrong == []


def test_it_can_be_read_without_scripts(browser, saved):
    with opened(browser, saved(cured()), java_script_enabled=False) as (page, wrong):
        assert "87 %" in page.inner_text("#step")
        assert "map(load)" in page.inner_text("#pipeline")
        assert "need JavaScript" in page.inner_text("#whatif")
        assert wrong == []
