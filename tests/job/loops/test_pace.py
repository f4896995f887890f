"""How fast a fit trains, epoch by epoch: `job/loops/pace.py`."""

from __future__ import annotations

import pytest

from feedline.job.loops.pace import Pace


class Clock:
    time = 0.0

    def now(self) -> float:
        return self.time


def trained(*epochs: float, steps: int = 10) -> Pace:
    """Epochs of so many milliseconds a step, with a second between them."""
    clock = Clock()
    pace = Pace(clock)
    for ms in epochs:
        for _ in range(steps):
            pace.begins()
            clock.time += ms / 1e3
            pace.ends(1)
        clock.time += 1
        pace.epoch_is_over()
    return pace


def test_what_comes_between_epochs_is_not_counted():
    steps, seconds = trained(100, 200).so_far
    assert steps == 20
    assert seconds == pytest.approx(3)


@pytest.mark.parametrize(
    ("epochs", "slower"),
    [
        ((900,), False),  # the first traces
        ((900, 90, 80), False),
        ((900, 210), True),
        ((900, 150, 170), True),
        ((900, 130), False),  # a short epoch alone may be the machine
        ((900, 130, 130, 130), True),
        ((900, 130, 90, 130, 130), False),
        ((900, 115, 115, 115), False),
        ((900, 115, 115, 115, 115, 115, 115), True),
        ((900, 115, 115, 115, 90, 115, 115, 115), False),
    ],
)
def test_slower_is_slower_for_some_seconds_in_a_row(epochs, slower):
    assert (trained(*epochs).slower_than(100) is not None) is slower


def test_short_epochs_and_an_unknown_step_say_nothing():
    assert trained(300, 300, steps=1).slower_than(100) is None
    assert trained(300, 300).slower_than(0) is None
