"""How many cores a process may keep busy, read from files as Linux keeps them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from feedline.files.cores import cores
from feedline.words import Config
from feedline.words.text import counting


def tree(root: Path, files: dict[str, object]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n", "utf-8")
    return root


@pytest.fixture
def sixteen_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))


@pytest.mark.usefixtures("sixteen_cores")
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 16),
        ({"cpu.max": "max 100000"}, 16),
        ({"cpu.max": "200000 100000"}, 2),
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "20000 100000"}, 1),
        ({"cpu.max": "6400000 100000"}, 16),
        ({"cpu.max": ""}, 16),
        ({"cpu/cpu.cfs_quota_us": 400000, "cpu/cpu.cfs_period_us": 100000}, 4),
        ({"cpu/cpu.cfs_quota_us": -1, "cpu/cpu.cfs_period_us": 100000}, 16),
    ],
)
def test_cores_of_the_cgroup(tmp_path, files, expected):
    assert cores(tree(tmp_path, files)) == expected


def test_a_process_that_may_use_some_cores_only(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5, 9})
    assert cores(tmp_path) == 3


def test_where_there_is_no_affinity(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores(tmp_path) == 1


def test_words_keep_to_the_cgroup_too(monkeypatch):
    # Threads beyond the limit of a container only wait for each other.
    monkeypatch.setattr("feedline.words.engine.config.cores", lambda: 3)
    monkeypatch.setattr(counting, "cores", lambda: 3)
    assert Config.of().threads == 3
    assert counting.threads_here() == 3
