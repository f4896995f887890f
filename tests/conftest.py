"""What every test may count on."""

from __future__ import annotations

import concurrent.futures.thread
import signal
import threading
from contextlib import closing
from pathlib import Path

import hypothesis
import pytest

from tests.place import Place

# No test is about time, and none fails today because of what it tried by chance.
# `--hypothesis-profile=explore` tries other things each time; so does the slow tier.
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.register_profile("same", deadline=None, derandomize=True)
hypothesis.settings.load_profile("same")

HERE = Path(__file__).resolve().parent
# What measures has the machine to itself; everything else goes side by side.
ALONE = (
    "examples",
    "verdicts",
    "measure/test_inprocess.py",
    "test_interrupt.py",
    "test_kinds.py",
    "test_monitor.py",
    "test_readme.py",
    "test_run.py",
)

# Started in the background of a shell, a process inherits that Ctrl-C is ignored,
# and hands it on to every script that a test starts and interrupts.
# Under `nohup` it is so with the end of the terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def threads_go_on():
    """A test that runs a script in this process also ends it as Python does, which
    tells thread pools that the interpreter is going."""
    yield
    threading._SHUTTING_DOWN = False
    concurrent.futures.thread._shutdown = False


@pytest.fixture
def place(tmp_path):
    """Where to run scripts, as a user would."""
    with closing(Place(tmp_path)) as place:
        yield place


def pytest_collection_modifyitems(items):
    for item in items:
        if any(item.path.is_relative_to(HERE / name) for name in ALONE):
            item.add_marker(pytest.mark.alone)
