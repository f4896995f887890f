"""What feedline says goes where standard error went at the start, or nowhere."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAD = """\
import io, os, signal, sys
from feedline.process.voice import Voice
voice = Voice()
"""
CASES = {
    "a tee": "sys.stderr = io.StringIO()",
    "none": "sys.stderr.close(); sys.stderr = None",
    "sent elsewhere": "os.dup2(os.open(os.devnull, os.O_WRONLY), 2)",
    "all closed": "os.closerange(3, 256)",
}


def run(program, **more):
    return subprocess.run(
        [sys.executable, "-c", HEAD + program], capture_output=True, text=True, **more
    )


@pytest.mark.parametrize("name", CASES)
def test_what_the_script_does_with_its_own_is_nothing_to_us(name):
    done = run(f"{CASES[name]}\nvoice.say('grün')")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "feedline: grün\n"


QUIET = {
    "closed for good": "os.closerange(0, 4096)",
    "its number was given away": (
        "r, w = os.pipe()\nos.dup2(w, voice._file.number)\nvoice.say('x')\n"
        "os.set_blocking(r, False)\n"
        "try:\n    os.read(r, 9)\nexcept BlockingIOError:\n    print('empty')"
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_it_is_silent_rather_than_in_the_way(name):
    done = run(f"{QUIET[name]}\nvoice.say('x')")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout in ("", "empty\n")


def test_a_script_that_dies_of_broken_pipes_does_not_die_of_ours():
    """Nobody reads standard error any more."""
    program = (
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\nsys.stdin.read()\n"
        "voice.say('x'); voice.say('y')\n"
        "assert not signal.sigpending()\nprint('alive')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD + program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stderr.close()
    process.stdin.close()
    with process:
        assert process.stdout.read() == "alive\n"
    assert process.returncode == 0
