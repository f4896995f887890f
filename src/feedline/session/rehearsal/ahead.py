"""A rehearsal from the side of the command: started before the run that counts, ended,
and what it found.

Its output is not shown, its standard input is given again to the run, and it is in a
session of its own, so that nobody is asked anything by it and that all of it can be
ended at once. A signal that ends feedline ends both: the run is not started after it.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from msgspec import structs

from feedline.fixes.saved import SavedPlan
from feedline.process.channel import Channel
from feedline.process.signals import Received, Signals
from feedline.process.stdin import Stdin
from feedline.report.basis import Basis
from feedline.session.children import (
    CannotStart,
    Manner,
    Process,
    Streams,
    catches,
    run_child,
)
from feedline.session.messages import Order, Outcome

_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_STOPPING = ("SIGTSTP", "SIGTTIN", "SIGTTOU")
_WITHOUT_EFFECT = ("SIGCONT", "SIGURG", "SIGWINCH", "SIGPIPE", "SIGXFSZ")
# What would be kept elsewhere, by us and by libraries that we use.
_OWN = {
    **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), ""),
    "FEEDLINE_CACHE": "store",
    "NUMBA_CACHE_DIR": "numba",
}
_INSIST = "--rehearse measures it anyway, and lets the rehearsal write files"


@dataclass(frozen=True)
class Rehearsed:
    """`plan` is what it found, `basis` what that was found from; `told`: the user was
    told why there is none. `ended_by` is the signal that ended feedline meanwhile;
    `held` are those for the script."""

    plan: SavedPlan | None = field(default=None, repr=False)
    basis: Basis | None = field(default=None, repr=False)
    told: bool = False
    ended_by: int = 0
    held: tuple[int, ...] = ()
    stdin: Stdin | None = None
    seconds: float = 0.0


class Rehearsing(Manner):
    """Signals while nobody sees the script. One that ends feedline ends all; one that
    the script has a handler for is kept for the run."""

    def __init__(self, stdin: Stdin) -> None:
        self._stdin = stdin
        self.ended_by = 0
        self.held: list[int] = []
        self.process: Process | None = None

    def received(self, process: Process, got: Received) -> None:
        self.process = process
        if got.is_one_of(*_STOPPING):
            self._all(signal.SIGSTOP)
            os.kill(os.getpid(), signal.SIGSTOP)
            self._all(signal.SIGCONT)
        elif not got.ignored and not got.is_one_of(*_WITHOUT_EFFECT):
            if not got.is_one_of(*_ENDING) and catches(process.pid, got.number):
                self.held.append(got.number)
            else:
                self.end(got)

    def end(self, got: Received) -> None:
        self.ended_by = got.number
        self._all(signal.SIGKILL)

    def look(self, process: Process, outcome: Channel) -> None:  # noqa: ARG002
        self.process = process
        if self._stdin.too_much:
            self._all(signal.SIGKILL)

    def _all(self, number: int) -> None:
        if self.process is not None:
            with suppress(OSError):
                os.killpg(self.process.pid, number)

    def sweep(self, signals: Signals) -> None:
        """It has ended: so does what it started, and so do we, if we were told to."""
        self._all(signal.SIGKILL)
        while got := signals.next(0):
            if got.is_one_of(*_ENDING):
                self.ended_by = got.number


def rehearse(
    order: Order,
    signals: Signals,
    say: Callable[[str], None],
    *,
    insist: bool,
    reason: str,
) -> Rehearsed:
    """Whatever fails here costs the plan, not the run."""
    what = f": {reason}" if reason else ""
    say(f"rehearsing the script first, in a hidden run{what}")
    began, stdin = time.monotonic(), Stdin()
    manner = Rehearsing(stdin)
    outcome, code = Outcome(), 0
    try:
        with _streams(stdin, signals, sealed=not insist) as (streams, scratch):
            order = structs.replace(
                order, mode="rehearse", everything=insist, scratch=scratch
            )
            outcome, code = run_child(order, signals, manner, streams)
            manner.sweep(signals)
    except (CannotStart, OSError) as error:
        outcome = Outcome(why_not=f"it cannot be rehearsed: {error}")
    finally:
        stdin.rehearsed()
    manner.sweep(signals)
    done = Rehearsed(
        stdin=stdin,
        held=tuple(manner.held),
        ended_by=manner.ended_by,
        seconds=time.monotonic() - began,
    )
    if done.ended_by:
        say(
            f"ended by {signal.Signals(done.ended_by).name}; the script was not started"
        )
        return done
    if stdin.too_much:
        outcome = Outcome(why_not="it reads too much from standard input")
    return _judged(done, outcome, code, say, insist=insist)


def _judged(
    done: Rehearsed,
    outcome: Outcome,
    code: int,
    say: Callable[[str], None],
    *,
    insist: bool,
) -> Rehearsed:
    if outcome.plan is not None:
        names = ", ".join(edit.fix for edit in outcome.plan.edits)
        say(
            f"starting the script with {names}"
            if names
            else "no allowed fix made it faster; your script runs unchanged"
        )
        return replace(done, plan=outcome.plan, basis=outcome.basis)
    if outcome.rehearsed and not outcome.why_not:
        return done  # to be measured in the run itself
    why_not = outcome.refused or outcome.why_not
    if not why_not and code < 0:
        why_not = f"its rehearsal was killed by {signal.Signals(-code).name}"
    why_not = why_not or f"its rehearsal ended with exit code {code}"
    hint = "" if insist else f" ({_INSIST})"
    say(f"your script runs without fixes: {why_not}{hint}")
    return replace(done, told=True)


@contextmanager
def _streams(
    stdin: Stdin, signals: Signals, *, sealed: bool
) -> Iterator[tuple[Streams, str | None]]:
    """The folder for its temporary files is its own, and goes with it."""
    given = stdin.for_rehearsal()
    folder = None
    try:
        environment = None
        if sealed:
            folder = tempfile.mkdtemp(prefix="feedline-rehearsal-")
            signals.remember(folder)
            ours = {name: os.path.join(folder, own) for name, own in _OWN.items()}
            environment = {**os.environ, **ours}
        yield Streams(given, hidden=True, environment=environment), folder
    finally:
        with suppress(OSError):
            os.close(given)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def given(stdin: Stdin | None) -> Iterator[Streams]:
    """What the run that counts starts with."""
    number = None if stdin is None else stdin.for_run()
    try:
        yield Streams(number)
    finally:
        if number is not None:
            with suppress(OSError):
                os.close(number)
