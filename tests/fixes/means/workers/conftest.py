"""No process is left behind by a test."""

import os

import pytest
from tests.place import wait_until


def children():
    """Processes that this one has made and not yet buried."""
    me = str(os.getpid()).encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[1] == me:
            found.append(int(pid))
    return found


@pytest.fixture(autouse=True)
def nobody_left():
    before = set(children())
    yield
    assert wait_until(lambda: set(children()) <= before, 120)
