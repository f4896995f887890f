"""Python's turns and the graph's, on the training's own steps: whose turn a call is,
what the turns took, and when that has shown which is faster."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean

from feedline.measure.experiment import estimate
from feedline.measure.measurement import Estimate
from feedline.prove.faster import decided
from feedline.prove.proof import Faster

_TURN_S = 0.2
_MOST_STEPS = 200
_LEAST_ROUNDS = 4
_MOST_ROUNDS = 12


@dataclass
class Turn:
    """Calls of one kind after each other."""

    graph: bool
    wanted: int
    calls: int = 0
    periods: list[float] = field(default_factory=list)
    inside: list[float] = field(default_factory=list)


class Turns:
    """`inside` is what a call took in each turn of Python's (False) and of the graph's
    (True), in seconds; `timed` counts the calls."""

    def __init__(self) -> None:
        self.inside: dict[bool, list[float]] = {False: [], True: []}
        self.timed = 0
        self._times: dict[bool, list[float]] = {False: [], True: []}
        self._turn: Turn | None = None

    @property
    def rounds(self) -> int:
        """In which both had a turn."""
        return min(map(len, self._times.values()))

    def next(self, eager_s: float) -> Turn | None:
        """The turn that this call belongs to; None where the turns are over. `eager_s`
        is a step of Python's before any turn was timed."""
        turn = self._turn
        if turn is not None and turn.calls < turn.wanted:
            return turn
        if turn is not None and turn.periods:
            # Both by their mean: what disturbs a turn is in its period and inside.
            self._times[turn.graph].append(1e3 * fmean(turn.periods))
            self.inside[turn.graph].append(fmean(turn.inside[1:]))
            self.timed += turn.calls
        if self._paired() and self.rounds and self._enough():
            return None
        self._turn = Turn(self._whose_turn(), self._steps_for_turn(eager_s))
        return self._turn

    def note_period(self, period: float) -> None:
        """From the last call to the next."""
        if self._turn is not None and self._turn.calls > 1:
            # The first of a turn meets what the other kind has left.
            self._turn.periods.append(period)

    def result(self) -> Faster:
        before, after = (estimate(self._times[graph]) for graph in (False, True))
        return Faster(before, after, self._gain())

    def _paired(self) -> bool:
        return len(self._times[False]) == len(self._times[True])

    def _whose_turn(self) -> bool:
        """In pairs, and the order of a pair changes: what disturbs both alike, does."""
        first = self.rounds % 2 == 1
        if self._paired():
            return first
        return len(self._times[True]) <= self.rounds

    def _steps_for_turn(self, eager_s: float) -> int:
        """As many for the graph as for Python: a short training has few steps. One
        more, because the first of a turn is not timed."""
        known = self._times[False]
        each = known[-1] / 1e3 if known else eager_s
        return 1 + max(1, min(_MOST_STEPS, round(_TURN_S / max(each, 1e-5))))

    def _gain(self) -> Estimate:
        pairs = zip(*self._times.values(), strict=False)
        return estimate([a / max(b, 1e-9) for a, b in pairs])

    def _enough(self) -> bool:
        rounds = len(self._times[False])
        if rounds < _LEAST_ROUNDS:
            return False
        return rounds >= _MOST_ROUNDS or decided(self._gain())
