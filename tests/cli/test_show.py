"""`feedline show`: a saved report, printed again."""

from __future__ import annotations

import json
from dataclasses import replace

from feedline.report.json import save
from feedline.report.terminal import render
from tests.cli.command import feedline, here
from tests.report.samples import sample
from tests.session.build import judged


def test_it_prints_what_was_printed_when_it_was_measured(tmp_path):
    save(sample(), tmp_path / "r.json")
    done = feedline("show", "r.json", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == render(sample())
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_damaged_report_is_one_clear_sentence(tmp_path):
    (tmp_path / "r.json").write_text('{"schema": 1}', "utf-8")
    done = here("show", "r.json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "feedline: cannot read r.json: Object missing required field `version`\n"
    )


def test_it_makes_a_page_of_a_saved_report(tmp_path):
    save(sample(), tmp_path / "r.json")
    done = here("show", "--html", "r.html", "r.json", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == (
        "feedline: this report has no measurement that this feedline can judge; shown "
        "as saved\n"
    )
    assert done.stdout == render(sample())
    assert (tmp_path / "r.html").read_text("utf-8") == sample().to_html()


def test_a_measurement_is_judged_again_unless_told(tmp_path):
    """The saved verdict is another than the causes of today give."""
    today = judged()
    save(replace(today, verdict="An old verdict.", findings=()), tmp_path / "r.json")
    done = here("show", "r.json", cwd=tmp_path)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", render(today))
    done = here("show", "--as-saved", "r.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "An old verdict." in done.stdout
    assert "serial-map" not in done.stdout


def test_a_measurement_that_makes_no_sense_is_one_clear_sentence(tmp_path):
    save(judged(), tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text("utf-8"))
    data["basis"]["pipeline"]["stages"][0]["inputs"] = [2]
    (tmp_path / "r.json").write_text(json.dumps(data), "utf-8")
    done = here("show", "r.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot read r.json: its measurement is damaged" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert here("show", "--as-saved", "r.json", cwd=tmp_path).returncode == 0


def test_a_file_that_is_not_a_page_is_left_alone(tmp_path):
    save(sample(), tmp_path / "r.json")
    before = (tmp_path / "r.json").read_text("utf-8")
    done = here("show", "--html", "r.json", "r.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "r.json exists and is not a feedline page" in done.stderr
    assert (tmp_path / "r.json").read_text("utf-8") == before
