"""What the job may use, read from files as Linux keeps them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from feedline.measure.machine import accelerators_present, look, memory

GIB = 2**30


def tree(root: Path, files: dict[str, object]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n", "utf-8")
    return root


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
