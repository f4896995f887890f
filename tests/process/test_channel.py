"""A message is whole or not there, whatever happens to its writer."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedline.process.channel import Channel


@pytest.fixture(params=["memory", "file"])
def channel(request, tmp_path, monkeypatch):
    if request.param == "file":
        monkeypatch.delattr(os, "memfd_create", raising=False)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = Channel.make()
    yield made
    made.close()
    assert list(tmp_path.iterdir()) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(st.binary(min_size=1, max_size=9000), min_size=1, max_size=4))
def test_the_last_message_counts(channel, messages):
    for message in messages:
        channel.put(message)
        assert channel.get() == message


def test_nothing_was_said(channel):
    assert channel.get() is None


def test_it_is_of_any_size(channel):
    message = os.urandom(1000) * 40_000
    channel.put(b"short")
    channel.put(message)
    assert channel.get() == message


WRITER = """\
import os, signal, sys
from feedline.process.channel import Channel
channel = Channel.at(sys.argv[1])
channel.put(b"first")
write = Channel._write
def half(self, start, message):
    import mmap
    os.posix_fallocate(self._file.number, start, 5000)
    with mmap.mmap(self._file.number, 5000, offset=start) as room:
        room[8:3000] = b"x" * 2992
        os.kill(os.getpid(), signal.SIGKILL)
Channel._write = half
channel.put(b"x" * 4000)
"""


def test_a_writer_that_is_killed_leaves_the_message_before(channel):
    passed = () if channel.inherited is None else (channel.inherited,)
    done = subprocess.run(
        [sys.executable, "-c", WRITER, channel.address], pass_fds=passed
    )
    assert done.returncode == -9
    assert channel.get() == b"first"


def test_what_the_script_does_to_descriptors_and_limits_costs_the_message_only():
    channel = Channel.make()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        channel.put(b"as large as may be" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert channel.get() == b"as large as may be" * 10_000
    number = channel.inherited
    assert number is not None
    os.close(number)
    with pytest.raises(OSError, match="closed"):
        channel.put(b"x")
    # The script's own file has the number now.
    reads, writes = os.pipe()
    os.dup2(writes, number)
    with pytest.raises(OSError, match="closed"):
        channel.put(b"x")
    os.close(number)
    os.close(writes)
    assert os.read(reads, 10) == b""
    os.close(reads)
