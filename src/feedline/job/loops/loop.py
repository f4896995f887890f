"""A live training loop that can be asked to run a few steps, differently fed.

An experiment is a generator: it yields a `Run` ("eight steps, fed from ready
batches") and is sent back a `Ran` (how long they took). It neither knows nor
cares who executes the request. Where feedline calls the step itself
(`Model.fit`), `drive` does; where the user's own Python loop calls us for each
batch, the loop answers the requests batch by batch as the user's body runs; in
tests a fake with planted truth does. That is the whole trick by which one
method measures every kind of loop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

Feed = Literal["live", "host", "device", "pull", "epoch"]
"""live    the job's own input pipeline
host    ready batches in host memory
device  ready batches on the device
pull    the input pipeline alone, no training
epoch   start the pipeline again and get the first batch of an epoch"""


@dataclass(frozen=True)
class Run:
    """Please run `steps` steps; `batch` asks for another batch size. After
    `seconds` fewer steps will do, but at least two."""

    feed: Feed
    steps: int = 1
    batch: int | None = None
    seconds: float = 1.0


@dataclass(frozen=True)
class Ran:
    """What became of it. `tracing` is the part of `seconds` that went into
    tracing functions; `steps` is what was really run."""

    seconds: float
    steps: int
    cpu_seconds: float = 0.0
    tracing: float = 0.0

    @property
    def ms(self) -> float:
        """Milliseconds per step, tracing left out."""
        return 1e3 * max(0.0, self.seconds - self.tracing) / max(1, self.steps)

    @property
    def tracing_ms(self) -> float:
        return 1e3 * self.tracing / max(1, self.steps)


class CannotRun(Exception):
    """This loop cannot be fed that way; the message says why."""


class LoopEnded(Exception):
    """The user's loop is over, no more steps can be had."""


class InputFailed(Exception):
    """The user's own input raised `error`; it is his to see."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


T = TypeVar("T")
Experiment = Generator[Run, Ran, T]


class Clock(Protocol):
    def now(self) -> float: ...
    def cpu(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


def drive(experiment: Experiment[T], execute: Callable[[Run], Ran]) -> T:
    """Run an experiment on something that can execute requests at once."""
    try:
        request = next(experiment)
        while True:
            try:
                result: Any = execute(request)
            except (CannotRun, LoopEnded) as refusal:
                request = experiment.throw(refusal)
            else:
                request = experiment.send(result)
    except StopIteration as end:
        value: T = end.value
        return value
