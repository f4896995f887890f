"""How long a training takes, by the steps that were watched."""

from __future__ import annotations

from types import SimpleNamespace

from feedline.session.live.training_time import left_s, training_s


def loop(periods, passes, epochs=10, steps=4):
    return SimpleNamespace(
        epochs=epochs,
        steps_per_epoch=steps,
        periods=periods,
        passes=passes,
        steps=len(periods),
    )


def test_what_an_epoch_takes_to_begin_counts():
    one_epoch = [0.5, 0.01, 0.01, 0.01]
    assert training_s(loop(one_epoch[1:], 1)) == 0.4
    assert abs(training_s(loop(one_epoch * 2, 2)) - 5.3) < 1e-9
    assert abs(left_s(loop(one_epoch * 2, 2)) - 4.24) < 1e-9


def test_what_nobody_can_tell_is_not_told():
    assert training_s(loop([0.1], 1, epochs=None)) is None
    assert training_s(loop([], 1)) is None
