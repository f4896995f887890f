"""Standard input that is read twice: the second reader gets all of it."""

from __future__ import annotations

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline.process.stdin import Stdin


def read_all(number: int) -> bytes:
    with os.fdopen(number, "rb") as file:
        return file.read()


def test_a_file_is_opened_again_where_it_stands(tmp_path):
    path = tmp_path / "in"
    path.write_bytes(b"first\nsecond\n")
    with path.open("rb") as file:
        os.lseek(file.fileno(), 6, os.SEEK_SET)
        stdin = Stdin(file.fileno())
        assert read_all(stdin.for_rehearsal()) == b"second\n"
        stdin.rehearsed()
        assert stdin.for_run() is None
        assert os.read(file.fileno(), 100) == b"second\n"


blocks = st.lists(st.binary(min_size=1, max_size=300), max_size=5)


@given(before=blocks, after=blocks, taken=st.integers(0, 400))
def test_what_was_taken_from_a_pipe_is_given_again_then_the_rest(before, after, taken):
    reads, writes = os.pipe()
    os.write(writes, b"".join(before))
    stdin = Stdin(reads)
    rehearsal = stdin.for_rehearsal()
    assert stat.S_ISFIFO(os.fstat(rehearsal).st_mode)
    whole = b"".join(before)
    got = b""
    while len(got) < min(taken, len(whole)):
        got += os.read(rehearsal, min(taken, len(whole)) - len(got))
    assert whole.startswith(got)
    os.close(rehearsal)
    stdin.rehearsed()
    run = stdin.for_run()
    for block in after:
        os.write(writes, block)
    os.close(writes)
    if run is None:  # nothing was taken: the pipe itself is given
        assert read_all(os.dup(reads)) == b"".join([*before, *after])
    else:
        assert stat.S_ISFIFO(os.fstat(run).st_mode)
        assert read_all(run) == b"".join([*before, *after])
    os.close(reads)


def test_a_pipe_that_is_at_its_end_stays_at_its_end():
    reads, writes = os.pipe()
    os.close(writes)
    stdin = Stdin(reads)
    assert read_all(stdin.for_rehearsal()) == b""
    stdin.rehearsed()
    run = stdin.for_run()
    assert read_all(os.dup(reads) if run is None else run) == b""
    os.close(reads)


def test_no_more_is_kept_than_there_is_room_for():
    reads, writes = os.pipe()
    os.write(writes, b"x" * 60_000)
    stdin = Stdin(reads, most=10_000)
    rehearsal = stdin.for_rehearsal()
    assert len(os.read(rehearsal, 60_000)) > 0
    os.write(writes, b"y")
    assert stdin._pump.join(20)
    assert stdin.too_much
    stdin.rehearsed()
    os.close(rehearsal)
    os.close(writes)
    run = stdin.for_run()
    assert read_all(run) == b"x" * 60_000 + b"y"
    os.close(reads)


@pytest.mark.parametrize("closed", [False, True])
def test_anything_else_is_empty_in_a_rehearsal(closed):
    controls, terminal = os.openpty()
    number = os.dup(terminal)
    if closed:
        os.close(number)
    stdin = Stdin(number)
    assert read_all(stdin.for_rehearsal()) == b""
    stdin.rehearsed()
    assert stdin.for_run() is None
    for each in (controls, terminal, *([] if closed else [number])):
        os.close(each)
