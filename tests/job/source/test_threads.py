"""The script's own threads, seen from another of its threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from feedline.job.source.threads import users_beside


def test_one_that_runs_the_users_code_is_named():
    begun, over = threading.Event(), threading.Event()

    def work():
        begun.set()
        over.wait(60)

    thread = threading.Thread(target=work, name="loader")
    thread.start()
    begun.wait(60)
    try:
        assert users_beside() == "loader"
    finally:
        over.set()
        thread.join()
    assert users_beside() == ""


def test_a_pool_that_has_nothing_to_do_is_none():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(int, "3").result() == 3
        assert users_beside() == ""


@pytest.mark.tensorflow
def test_nothing_is_put_back_beside_it():
    from feedline.errors import CannotPutBack
    from feedline.job.loops.snapshot import same_draws

    begun, over = threading.Event(), threading.Event()

    def draw():
        begun.set()
        over.wait(60)

    thread = threading.Thread(target=draw, name="loader")
    thread.start()
    begun.wait(60)
    try:
        with pytest.raises(CannotPutBack, match="loader"), same_draws():
            pytest.fail("not begun")
    finally:
        over.set()
        thread.join()
