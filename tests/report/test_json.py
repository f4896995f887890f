"""The JSON report: nothing is lost, the schema holds, bad files are refused."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import replace
from importlib.resources import files

import jsonschema
import pytest
from hypothesis import given, settings

from feedline.errors import FeedlineError, OutputExists, ReportError
from feedline.report import schema
from feedline.report.json import (
    MAX_BYTES,
    check_target,
    from_json,
    load,
    save,
    to_json,
)
from tests.report.samples import reports, sample

SCHEMA = json.loads(files("feedline.report").joinpath("schema.json").read_text("utf-8"))


VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@given(reports())
@settings(max_examples=30, deadline=None)
def test_a_report_fits_the_schema_and_read_back_is_the_same(report):
    VALIDATOR.validate(json.loads(to_json(report)))
    assert from_json(to_json(report)) == report


@pytest.mark.slow
@given(reports())
@settings(max_examples=300, deadline=None)
def test_many_more_reports_fit_the_schema_and_read_back_are_the_same(report):
    VALIDATOR.validate(json.loads(to_json(report)))
    assert from_json(to_json(report)) == report


def test_the_schema_is_made_from_the_types():
    made = "python -m feedline.report.schema > src/feedline/report/schema.json"
    assert json.loads(schema.text()) == SCHEMA, f"make it anew: {made}"


def test_every_name_in_the_schema_is_defined():
    named = set(re.findall(r'"#/\$defs/(\w+)"', schema.text()))
    assert named == set(SCHEMA["$defs"])


def test_the_schema_is_itself_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_fields_of_the_contract_are_there():
    data = json.loads(to_json(sample()))
    assert list(data)[:2] == ["schema", "version"]
    assert data["schema"] == 1
    assert data["step"]["observed_ms"] == 84.2
    assert data["step"]["interval_ms"] == [82.9, 85.6]
    assert data["run"]["slowest_lines"][0]["where"] == "train.py:12"
    assert data["findings"][0]["fixes"] == ["parallel-map"]
    assert data["after"] is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("schema", 2),
        ("bound", "disk"),
        ("shares", {"input": 1.0}),
        ("step", {}),
        ("seconds", "long"),
    ],
)
def test_the_schema_is_strict_about_the_contract(field, value):
    data = json.loads(to_json(sample()))
    data[field] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)
    with pytest.raises(ReportError):
        from_json(json.dumps(data))


def test_what_is_not_a_number_is_written_as_null():
    report = sample(seconds=math.inf)
    report = replace(report, step=replace(report.step, ceiling_ms=math.nan))
    text = to_json(report)
    data = json.loads(text)
    assert data["seconds"] is None
    assert data["step"]["ceiling_ms"] is None
    assert "NaN" not in text
    assert math.isnan(from_json(text).step.ceiling_ms)


def test_fields_added_by_a_later_version_are_passed_over():
    data = json.loads(to_json(sample()))
    data["later"] = 1
    data["step"]["later"] = 2
    assert from_json(json.dumps(data)) == sample()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"[]", "not a feedline report"),
        (b'{"step": 1}', "not a feedline report"),
        (b'{"schema": 7}', "schema is 7"),
        (b'{"schema": 1}', "required field `version`"),
        (to_json(sample()).replace("84.2", '"fast"').encode(), "step.observed_ms"),
        (to_json(sample()).replace("84.2", "1e999").encode(), "finite"),
        (to_json(sample()).replace("84.2", "NaN").encode(), "finite"),
        (to_json(sample()).replace("0.87", "0.5").encode(), "add up to 1"),
        (to_json(sample())[:-20].encode(), "not JSON"),
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path, content, reason):
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(ReportError, match=reason) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_missing_and_a_huge_file_are_refused(tmp_path):
    with pytest.raises(ReportError, match="No such file"):
        load(tmp_path / "none.json")
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ReportError, match="larger than 50 MB"):
        load(huge)


def test_saving_replaces_a_report_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "r.json"
    save(sample(), path)
    save(sample(seconds=2.0), path)
    assert load(path).seconds == 2.0
    assert os.listdir(tmp_path) == ["r.json"]


def test_another_file_is_not_overwritten_without_force(tmp_path):
    path = tmp_path / "notes.json"
    path.write_text('{"mine": true}', "utf-8")
    with pytest.raises(OutputExists, match="--force"):
        save(sample(), path)
    assert path.read_text("utf-8") == '{"mine": true}'
    save(sample(), path, force=True)
    assert load(path) == sample()


def test_an_empty_file_may_be_written_to(tmp_path):
    path = tmp_path / "r.json"
    path.touch()
    save(sample(), path)
    assert load(path) == sample()


def test_a_failed_write_keeps_the_old_report(tmp_path, monkeypatch):
    path = tmp_path / "r.json"
    save(sample(), path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FeedlineError, match="No space left"):
        save(sample(seconds=2.0), path)
    assert load(path) == sample()
    assert os.listdir(tmp_path) == ["r.json"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link.json").symlink_to("real.json")
    save(sample(), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert load(tmp_path / "real.json") == sample()


def test_a_place_that_cannot_be_written_is_known_beforehand(tmp_path):
    with pytest.raises(FeedlineError, match="is a directory"):
        check_target(tmp_path)
    with pytest.raises(FeedlineError, match="there is no directory"):
        check_target(tmp_path / "no" / "r.json")
    assert check_target(tmp_path / "r.json").is_absolute()
