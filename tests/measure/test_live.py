"""The short capture of a job, and what it may not do to the terminal."""

import os

import pytest

from feedline.measure.live import _profiling, steps_for, without_chatter
from tests.place import without_log


def test_few_steps_or_none():
    assert steps_for(10.0, 9.0) == 10
    assert steps_for(1000.0, 5.0) == 4
    assert steps_for(1000.0, 3.5) == 0


def test_what_others_write_meanwhile_is_not_lost(capfd):
    with without_chatter():
        os.write(2, b"I0000 00:00:17 1 profiler_session.cc:117] Profiler session\n")
        os.write(2, b"epoch 1\nhalf a ")
    os.write(2, b"line\n")
    assert without_log(capfd.readouterr().err) == "epoch 1\nhalf a line\n"


def test_an_error_inside_is_the_callers(capfd):
    def fails():
        with without_chatter():
            os.write(2, b"before\n")
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert without_log(capfd.readouterr().err) == "before\n"


@pytest.mark.tensorflow
def test_the_profiler_is_not_heard(tmp_path, capfd):
    with _profiling(str(tmp_path)):
        pass
    assert "profiler" not in capfd.readouterr().err
    assert list(tmp_path.rglob("*.xplane.pb"))
