"""Is measuring worth it? People count from Return to the prompt, so measuring is an
investment, and its budget a small part of the training that is left.

Pure arithmetic over seconds: who estimates the training, and by which clock, is told in
`tuning.py` (a fit, before its first step) and `rehearsal/rehearse.py` (any loop, once
it is warm).
"""

from __future__ import annotations

from dataclasses import dataclass

from feedline.errors import FeedlineError

_PART = 0.1  # of the training that is left
_LEAST_TRAINING_S = 6.0
_LEAST_STEPS = 25
_LEAST_S = 1.5  # for measuring anything at all; the next run has what was found
UNKNOWN_TRAINING_S = 60.0
"""What a training is taken for whose end nobody can tell."""
_TRIAL_S = 2.0  # what trying one fix takes, at the least
_GIVEN_LEAST_TRAINING_S = 1.0
_GIVEN_LEAST_S = 20.0
_STEPS_OF_A_TRACE = 15.0
_LIVE_TRIAL_S = 1.0
_REHEARSALS = 10.0
_REHEARSING_S = 5.0


class TooShort(FeedlineError):
    """Measuring would cost more than it could save."""


@dataclass(frozen=True)
class Budget:
    """`seconds` is the most that measuring may take. `given`: the user named it, so
    only a training that ends at once is too short for it. `more_s`: so many seconds of
    training are expected after this one at the same line; `least_s`: with this one."""

    seconds: float
    given: bool = False
    more_s: float = 0.0
    least_s: float = 0.0

    def for_training(self, training_s: float | None, step_s: float = 0.0) -> float:
        """What may be spent on a training of which so much is left; None where that
        is not known. Raises `TooShort` where measuring cannot pay, or too few steps
        could be looked at."""
        if self.given:
            if training_s is None:
                return self.seconds
            _long_enough(training_s, _GIVEN_LEAST_TRAINING_S)
            return min(self.seconds, max(_GIVEN_LEAST_S, 3 * training_s))
        all_s = self._all(UNKNOWN_TRAINING_S if training_s is None else training_s)
        _long_enough(all_s, _LEAST_TRAINING_S)
        seconds = min(self.seconds, max(_LEAST_S, _PART * all_s))
        if seconds < _LEAST_STEPS * step_s:
            raise TooShort(
                f"training has too few steps of {step_s:.2g} s to repay measuring"
            )
        return seconds

    def too_few(self, steps: int) -> bool:
        """Can so many steps not be measured, however long each takes? Where all of them
        are long enough, one is too long for the time that they allow."""
        if self.given or self.more_s > 0 or self.least_s > 0:
            return False
        return steps < min(_LEAST_TRAINING_S / _LEAST_S, 1 / _PART) * _LEAST_STEPS

    def to_gain_from(self, training_s: float | None) -> float | None:
        """The training that what is found may shorten; None where that is not known,
        and where nobody counts, because the user named the seconds."""
        if self.given or training_s is None:
            return None
        return self._all(training_s)

    def _all(self, training_s: float) -> float:
        return max(training_s + self.more_s, self.least_s)


def _long_enough(training_s: float, least_s: float) -> None:
    if training_s < least_s:
        raise TooShort(
            f"training takes about {training_s:.2g} s, too short to repay measuring"
        )


def worth_trying(training_s: float | None, gain: float) -> bool:
    """Would a fix of this expected gain save more than trying it takes?"""
    if training_s is None:
        return True
    return training_s * (1 - 1 / max(gain, 1.0)) > _TRIAL_S


def balance(measured_s: float, saved_s: float) -> str:
    """What it cost and what it brought, in one line."""
    net = saved_s - measured_s
    return (
        f"measured {_seconds(measured_s)}, saved {_seconds(saved_s)}, "
        f"net {_seconds(net)}"
    )


def _seconds(value: float) -> str:
    number = f"{value:.1f}" if abs(value) < 9.95 else f"{value:.0f}"
    return f"{'0' if float(number) == 0 else number} s"


def trial_pays(left_s: float | None, step_s: float, *, given: bool) -> bool:
    """Is a live trial of a step worth its time, with so much training left? Making a
    graph takes about as long as some eager steps, and the steps that are compared
    are made twice."""
    if left_s is None:
        left_s = UNKNOWN_TRAINING_S
    if given:
        return left_s > _GIVEN_LEAST_TRAINING_S
    return left_s > 4 * (_LIVE_TRIAL_S + _STEPS_OF_A_TRACE * step_s)


def rehearsal_pays(training_s: float | None, starting_s: float) -> bool:
    """Is the training ten times as long as what rehearsing it costs: to start the
    script once more, and to measure?"""
    if training_s is None:
        return False
    return training_s >= _REHEARSALS * (starting_s + _REHEARSING_S)
