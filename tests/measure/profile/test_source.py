"""Reading captures: what was written comes back; what is broken is refused."""

from __future__ import annotations

import gzip
import os
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.errors import CaptureError
from feedline.measure.profile import source, wire
from feedline.measure.profile.parse import LIMITS, read_space
from feedline.measure.profile.wire import Damaged
from tests.measure.profile.build import Space, planted


def test_names_times_and_stats_come_back(tmp_path):
    space = Space()
    plane = space.gpu(2)
    plane.line("Stream #1", at_ns=5_000_000).add(
        "kernel", 4.5, 6.25, a=-3, b=0.5, c="text", d="&elsewhere"
    ).add("other", 4.25, 4.5)
    read = source.load(space.save(tmp_path / "a.xplane.pb"))
    assert read.hosts == ("planted",)
    (found,) = read.planes
    assert found.name == "/device:GPU:2"
    assert found.stats["core_count"] == 80
    (line,) = found.lines
    assert [found.names[int(key)] for key in line.name_of] == ["other", "kernel"]
    assert (line.end - line.start).tolist() == [250_000, 1_750_000]
    assert (line.start[1] - line.start[0]) == 250_000
    assert found.stat(line, "a") == [None, -3]
    assert found.stat(line, "b") == [None, 0.5]
    assert found.stat(line, "c") == [None, "text"]
    assert found.stat(line, "d") == [None, "elsewhere"]
    assert found.stat(line, "never") == [None, None]
    assert found.has(line, "a").tolist() == [False, True]


def test_an_event_without_a_time_is_left_out():
    space = Space()
    line = space.host().line("t").add("a", 0, 1).add("b", 1, 2)
    line.message.events[1].ClearField("offset_ps")
    line.message.events[1].num_occurrences = 5
    read = read_space(np.frombuffer(space.bytes(), np.uint8))
    assert read.events == 1


def test_gzip(tmp_path):
    packed = tmp_path / "a.xplane.pb.gz"
    packed.write_bytes(gzip.compress(planted(1).bytes()))
    assert (
        source.load(packed).events
        == source.load(planted(1).save(tmp_path / "a.xplane.pb")).events
    )


def test_a_log_directory_means_its_newest_run_with_every_host(tmp_path):
    runs = tmp_path / "logs" / "train" / "plugins" / "profile"
    for age, name in enumerate(["2024_01_02", "2024_01_01"]):
        for host in "ab":
            file = planted(1).save(runs / name / f"{host}.xplane.pb")
            os.utime(file, (10**9 - age, 10**9 - age))
    assert [str(f.relative_to(runs)) for f in source.find(tmp_path)] == [
        "2024_01_02/a.xplane.pb",
        "2024_01_02/b.xplane.pb",
    ]


def refusal(path) -> str:
    with pytest.raises(CaptureError) as refused:
        source.load(source.find(path)[0])
    assert str(path) in str(refused.value)
    return str(refused.value)


def test_what_is_missing_empty_or_foreign_is_refused(tmp_path):
    assert "no such file" in refusal(tmp_path / "none.xplane.pb")
    assert "holds no capture" in refusal(tmp_path)
    for name, data, said in [
        ("empty", b"", "is empty"),
        ("text", b"step,loss\n1,0.5\n" * 50, "not an XSpace capture"),
        ("png", b"\x89PNG\r\n\x1a\n" + bytes(200), "not an XSpace capture"),
        ("nothing", b"\x22\x04host", "holds no plane"),
        ("a plane", Space().host().message.SerializeToString(), "holds no plane"),
        ("gzip", gzip.compress(b"x" * 999)[:-20], "gzip is damaged"),
    ]:
        file = tmp_path / name
        file.write_bytes(data)
        assert said in refusal(file), name
    idle = Space()
    idle.host().line("thread")
    assert "holds no event" in refusal(idle.save(tmp_path / "idle.xplane.pb"))


def test_what_cannot_be_opened_is_refused(tmp_path):
    pipe = tmp_path / "x.xplane.pb"
    pipe.mkdir()
    with pytest.raises(CaptureError, match="cannot read"):
        source.load(pipe)


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MAX_BYTES", 5_000_000)
    bomb = tmp_path / "bomb.xplane.pb.gz"
    bomb.write_bytes(gzip.compress(bytes(50_000_000)))
    assert "unpacks to over" in refusal(bomb)
    large = tmp_path / "large.xplane.pb"
    large.write_bytes(bytes(5_000_001))
    assert "is larger than" in refusal(large)


@pytest.mark.parametrize("what", ["planes", "lines", "names", "events"])
def test_more_than_memory_could_hold_is_refused(what, tmp_path, monkeypatch):
    monkeypatch.setitem(LIMITS, what, 1)
    file = planted().save(tmp_path / "a.xplane.pb")
    assert f"more than 1 {what}" in refusal(file)


def test_a_flood_of_fields_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(wire, "MOST_FIELDS", 1000)
    flood = tmp_path / "a.xplane.pb"
    flood.write_bytes(b"\x28\x00" * 2000)
    assert "more than 1,000 fields" in refusal(flood)


def test_cut_short_anywhere_it_is_refused_or_a_whole_part():
    whole = planted(1).bytes()
    for end in range(0, len(whole), 7):
        try:
            read_space(np.frombuffer(whole[:end], np.uint8))
        except Damaged:
            continue
        assert end < len(whole)


@given(st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_refused(data):
    with suppress(Damaged):
        read_space(np.frombuffer(data, np.uint8))
