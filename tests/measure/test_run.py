"""The time before the first step is credited to what the script was doing."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from feedline.job.script.watch import Watch
from feedline.job.source import lines
from feedline.measure.clock import SystemClock
from feedline.measure.run import RunSampler
from tests.clock import FakeClock


@pytest.fixture
def watch():
    return Watch(FakeClock(), lambda _: None)


@pytest.fixture
def sampler(watch):
    return RunSampler(FakeClock(), watch)


@contextmanager
def stopped_in(text: str, filename: str) -> Iterator[types.FrameType]:
    """A frame of this program, stopped where it calls `stop(frame)`."""
    found = []
    space = {"stop": lambda: found.append(sys._getframe(1))}
    exec(compile(text, filename, "exec"), space)
    yield found[0]


def test_a_line_of_the_users_is_credited(sampler, tmp_path):
    path = tmp_path / "train.py"
    path.write_text("def load():\n    stop()\n\nload()\n", "utf-8")
    with stopped_in(path.read_text(), str(path)) as frame:
        sampler.credit(frame, 0.5)
        sampler.credit(frame, 0.25)
    assert sampler.prepare_s == 0.75
    (line,) = sampler.slowest()
    assert (str(line.where), line.where.code) == ("train.py:2", "stop()")
    assert line.seconds == 0.75


def test_work_inside_a_library_is_the_users_line(sampler, tmp_path):
    """Sorting inside NumPy is the doing of the line that asked for it."""
    path = tmp_path / "train.py"
    path.write_text("import json\njson.dumps([1], default=None, cls=Slow)\n", "utf-8")
    frames = []

    class Slow(__import__("json").JSONEncoder):
        def encode(self, o):
            frames.append(sys._getframe(1))  # json's own frame
            return super().encode(o)

    exec(compile(path.read_text(), str(path), "exec"), {"Slow": Slow})
    sampler.credit(frames[0], 1.0)
    assert str(sampler.slowest()[0].where) == "train.py:2"


def test_an_import_is_an_import(sampler, tmp_path, monkeypatch):
    text = "import sys\nstop(sys._getframe())\n"
    (tmp_path / "imported_by_test.py").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        "builtins.stop", lambda frame: sampler.credit(frame, 2.0), raising=False
    )
    monkeypatch.setitem(sys.modules, "imported_by_test", None)
    del sys.modules["imported_by_test"]  # at the end it is as it was: not there
    __import__("imported_by_test")
    assert (sampler.import_s, sampler.prepare_s) == (2.0, 0.0)
    assert sampler.slowest() == ()


def test_tracing_is_not_preparing(sampler, watch):
    frame = sys._getframe()
    with watch.tracing("step"):
        sampler.credit(frame, 1.0)
    assert sampler.prepare_s == 0.0
    sampler.credit(frame, 1.0)
    assert sampler.prepare_s == 1.0


def test_the_slowest_lines_come_first_and_trifles_not_at_all(sampler, tmp_path):
    for number, seconds in enumerate([0.01, 3.0, 1.0, 2.0, 0.5, 4.0, 5.0]):
        path = tmp_path / f"{number}.py"
        path.write_text("stop()", "utf-8")
        with stopped_in("stop()", str(path)) as frame:
            sampler.credit(frame, seconds)
    assert [line.seconds for line in sampler.slowest()] == [5.0, 4.0, 3.0, 2.0, 1.0]
    assert sampler.slowest(most=9)[-1].seconds == 0.5


def test_it_looks_by_itself(watch):
    """The only test with a real clock: nothing is said about how long."""
    sampler = RunSampler(SystemClock(), watch)
    sampler.start()
    until = time.monotonic() + 120
    while not sampler.slowest() and time.monotonic() < until:
        time.sleep(0.01)
    watch.began = True  # so that it costs the steps nothing
    assert sampler.join(120)
    assert sampler.prepare_s > 0
    assert Path(sampler.slowest()[0].where.file).samefile(__file__)


def test_what_counts_as_the_users(tmp_path, monkeypatch):
    import json
    import sysconfig

    assert lines.is_library(json.__file__)
    assert lines.is_library(lines.__file__)
    assert lines.is_library("<frozen importlib._bootstrap>")
    assert not lines.is_library(str(tmp_path / "train.py"))
    installed = f"{sysconfig.get_paths()['purelib']}/project/train.py"
    assert lines.is_library(installed)
    monkeypatch.setattr(lines, "_own", set())
    lines.own(f"{sysconfig.get_paths()['purelib']}/project")
    assert not lines.is_library(installed)
