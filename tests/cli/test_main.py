"""What every command has in common: help, errors, interrupts, closed pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from feedline import __version__
from tests.cli.command import WITH_FAKE_SESSION, feedline, here, run
from tests.place import LIMIT


def test_no_arguments_print_the_help():
    done = feedline()
    assert done.returncode == 0
    assert "feedline why train.py" in done.stdout
    assert done.stdout == here("--help").stdout


def test_version():
    assert here("--version").stdout == f"feedline {__version__}\n"


@pytest.mark.parametrize("command", ["why", "explain", "show"])
def test_every_help_teaches_by_example_within_80_columns(command):
    done = here(command, "--help")
    assert done.returncode == 0
    assert f"feedline {command} " in done.stdout.partition("Examples:")[2]
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    "arguments",
    [["wy"], ["why"], ["show"], ["why", "--nonsense", "x.py"], ["--nonsense"]],
)
def test_bad_usage_is_2_and_no_traceback(arguments):
    done = here(*arguments)
    assert done.returncode == 2
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_is_one_line_and_its_text_is_harmless(tmp_path):
    done = here("show", str(tmp_path / "a\x1b[2J.json"))
    assert done.returncode == 2
    assert done.stderr.startswith("feedline: cannot read ")
    assert "\x1b" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_python_dash_m_is_the_same_command():
    done = run([sys.executable, "-m", "feedline", "--version"])
    assert done.stdout == f"feedline {__version__}\n"


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_interrupt_is_130_without_a_traceback(tmp_path):
    program = WITH_FAKE_SESSION + (
        "def why_script(*_):\n"
        "    import time; print('ready', flush=True); time.sleep(1000)\n"
        "session.why_script = why_script\n"
        "main()\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", program, "why", "x.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate(timeout=LIMIT)
    assert started.returncode == 130
    assert "Traceback" not in errors


@pytest.mark.skipif(os.name == "nt", reason="pipes are POSIX")
def test_a_closed_pipe_is_quiet():
    started = subprocess.Popen(
        [sys.executable, "-m", "feedline", "explain"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with started:
        assert started.stdout is not None
        started.stdout.close()
        assert started.stderr is not None
        assert started.stderr.read() == b""
