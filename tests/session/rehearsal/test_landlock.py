"""The kernel refuses what a rehearsal must not do, whoever tries it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """\
import ctypes, os, sys, threading
from feedline.session.rehearsal import landlock

scratch, outside = sys.argv[1:]
file = open(os.path.join(outside, "open already"), "w")
if not landlock.restrict(scratch):
    print("none here")
    sys.exit()
c = ctypes.CDLL(None, use_errno=True)

def refused(result):
    return result < 0 and ctypes.get_errno() == 13

def natively(folder):
    name = os.path.join(folder, "new").encode()
    yield c.open(name, os.O_WRONLY | os.O_CREAT, 0o600)
    yield c.mkdir(name + b"d", 0o700)
    yield c.symlink(b"x", name + b"l")
    yield c.unlink(os.path.join(folder, "old").encode())
    yield c.rename(os.path.join(folder, "other").encode(), name + b"r")

found = []
thread = threading.Thread(target=lambda: found.extend(natively(outside)))
thread.start(); thread.join()
print([each < 0 for each in found])
print([refused(each) for each in natively(scratch)])
file.write("x"); file.close()
open(os.devnull, "w").write("x")
print(open(os.path.join(outside, "other")).read())
"""


def test_nothing_is_written_but_in_its_folder(tmp_path):
    scratch, outside = tmp_path / "scratch", tmp_path / "outside"
    for folder in (scratch, outside):
        folder.mkdir()
        for name in ("old", "other"):
            (folder / name).write_text(name)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(scratch), str(outside)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    if done.stdout == "none here\n":
        pytest.skip("this kernel has no Landlock")
    assert done.stdout.splitlines() == [
        str([True] * 5),
        str([False] * 5),
        "other",
    ]
    assert sorted(p.name for p in outside.iterdir()) == ["old", "open already", "other"]
    assert (outside / "open already").read_text() == "x"
