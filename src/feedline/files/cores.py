"""How many cores this process may keep busy.

Two limits count, and the smaller holds: the cores that the process is bound to
(affinity), and the CPU time that its cgroup allows, which is how containers are
limited: a container with two CPUs on a machine of 64 cores sees all 64.
"""

from __future__ import annotations

import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def cores(cgroup: Path = CGROUP) -> int:
    """Whole cores, at least 1."""
    try:
        available = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        available = os.cpu_count() or 1
    quota = _cpu_quota(cgroup)
    return max(1, min(available, int(quota + 0.5)) if quota else available)


def _cpu_quota(cgroup: Path) -> float | None:
    words = _text(cgroup / "cpu.max").split()
    if len(words) == 2 and words[0] != "max":
        return float(words[0]) / float(words[1])
    quota = _text(cgroup / "cpu" / "cpu.cfs_quota_us")
    period = _text(cgroup / "cpu" / "cpu.cfs_period_us")
    if quota and period and int(quota) > 0:
        return int(quota) / int(period)
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
