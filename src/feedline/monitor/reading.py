"""What the monitor hands on: `Reading`, `Warned`, `Summary`. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

from feedline.files.sizes import size
from feedline.measure.measurement import Estimate
from feedline.report.format import ms, number, percent, seconds


@dataclass(frozen=True)
class Reading:
    """A few seconds of training.

    step, epoch   where it ended; epochs count from 1
    seconds       of training until then
    steps         in it; first steps of an epoch are left out
    step_ms       the median step, everything between two steps included
    input_share   the part of the step that waits for a batch, with the 95 % interval
                  of the sample (`rounds` steps of it); None where none was seen
    memory        bytes that this process holds, None where nobody tells
    """

    step: int
    epoch: int
    seconds: float
    steps: int
    step_ms: float
    examples_per_s: float | None = None
    input_share: Estimate | None = None
    memory: float | None = None


@dataclass(frozen=True)
class Warned:
    """A warning that was given. `cause` is a name for `feedline explain`, inferred
    and not proved; None where nothing points to one."""

    kind: str
    text: str
    step: int
    epoch: int
    cause: str | None = None


@dataclass(frozen=True)
class Summary:
    """The training so far.

    epoch_start_s  the median time from asking for an epoch's first batch to the end
                   of its first step; None before the second epoch
    growth         bytes per minute that the process grows by, with its interval
    own_share      the part of the training's time that the monitor took itself
    notes          what could not be seen, and why
    """

    steps: int = 0
    epochs: int = 0
    seconds: float = 0.0
    step_ms: float | None = None
    examples_per_s: float | None = None
    input_share: Estimate | None = None
    epoch_start_s: float | None = None
    growth: Estimate | None = None
    own_share: float = 0.0
    readings: tuple[Reading, ...] = ()
    warnings: tuple[Warned, ...] = ()
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """For a person, in lines of 80 columns; warnings apart."""
        rate = "? examples/s"
        if self.examples_per_s is not None:
            rate = f"{number(self.examples_per_s)} examples/s"
        text = [
            f"{self.steps:,} steps, {self.epochs} epoch(s), {seconds(self.seconds)}",
            f"{rate}, {ms(self.step_ms)} per step",
            f"waiting for input: {share(self.input_share)}",
        ]
        if self.input_share is not None:
            text[-1] += f", from {self.input_share.rounds:,} steps"
        if self.epoch_start_s is not None:
            text.append(f"an epoch's first step: {ms(1e3 * self.epoch_start_s)}")
        if self.growth is not None and self.growth.low > 0:
            text.append(f"memory grows by {size(self.growth.value)} per minute")
        text.append(f"the monitor itself: {percent(self.own_share)} of the time")
        return text + [f"not seen: {note}" for note in self.notes]


def share(found: Estimate | None) -> str:
    if found is None:
        return "? %"
    return f"{percent(found.value)} ({100 * found.low:.0f} to {100 * found.high:.0f})"


def status(found: Reading) -> str:
    """One line, of less than 80 columns up to a million examples a second."""
    parts = [] if found.examples_per_s is None else [number(found.examples_per_s)]
    parts = [f"{part} examples/s" for part in parts]
    parts += [f"{ms(found.step_ms)}/step", f"waits {share(found.input_share)}"]
    if found.memory is not None:
        parts.append(size(found.memory))
    return "feedline  " + "  ".join(parts)
