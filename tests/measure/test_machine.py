"""What the job may use, read from files as Linux keeps them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from feedline.measure.machine import accelerators_present, cores, look, memory

GIB = 2**30


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


MEMINFO = "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB"


@pytest.mark.parametrize(
    ("files", "total", "free"),
    [
        ({}, 8, 4),
        ({"memory.max": "max", "memory.current": 9 * GIB}, 8, 4),
        ({"memory.max": 2 * GIB, "memory.current": GIB}, 2, 1),
        # the machine has less to spare than the limit would allow
        ({"memory.max": 6 * GIB, "memory.current": GIB}, 6, 4),
        ({"memory.max": GIB, "memory.current": 2 * GIB}, 1, 0),
        # version 1 says "no limit" by a huge number
        (
            {
                "memory/memory.limit_in_bytes": 2**63 - 4096,
                "memory/memory.usage_in_bytes": GIB,
            },
            8,
            4,
        ),
        (
            {
                "memory/memory.limit_in_bytes": 3 * GIB,
                "memory/memory.usage_in_bytes": GIB,
            },
            3,
            2,
        ),
    ],
)
def test_memory_of_the_cgroup(tmp_path, files, total, free):
    meminfo = tree(tmp_path, {"meminfo": MEMINFO}) / "meminfo"
    found = memory(tree(tmp_path / "cgroup", files), meminfo)
    assert found == (total * GIB, free * GIB)


def test_a_machine_that_tells_nothing(tmp_path):
    assert memory(tmp_path, tmp_path / "meminfo") == (0.0, 0.0)


def test_accelerators_that_the_system_knows(tmp_path):
    proc, dev = tmp_path / "gpus", tmp_path / "dev"
    assert accelerators_present(proc, dev) == ()
    tree(dev, {"nvidia0": "", "nvidia1": "", "nvidiactl": ""})
    assert accelerators_present(proc, dev) == ("nvidia0", "nvidia1")
    tree(proc, {"0000:01:00.0/information": "Model: \t NVIDIA L4\nIRQ: 1"})
    assert accelerators_present(proc, dev) == ("NVIDIA L4",)


def test_this_machine():
    machine = look()
    assert 1 <= machine.cores <= (os.cpu_count() or 1)
    assert 0 <= machine.free_memory_gb <= machine.memory_gb
    assert machine.devices
