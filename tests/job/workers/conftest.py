"""No process is left behind by a test."""

import os
import time

import pytest


def children():
    """Processes that this one has made and not yet buried."""
    me = str(os.getpid())
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == me:
            found.append(int(pid))
    return found


@pytest.fixture(autouse=True)
def nobody_left():
    before = set(children())
    yield
    until = time.monotonic() + 10
    while set(children()) - before and time.monotonic() < until:
        time.sleep(0.05)
    assert set(children()) <= before
