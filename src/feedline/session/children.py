"""The process in which a script runs, from the side of the command: started, followed
to its end, and what it had to say.

How signals are dealt with depends on what the process is for: `Running` is the script
itself, which is its own master; `Measuring` (`feedline why`) ends soon after its
verdict; a rehearsal has its own manner (`rehearsal/ahead.py`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from feedline.process.channel import Channel
from feedline.process.following import follow, pass_on
from feedline.process.signals import Received, Signals
from feedline.session.messages import Order, Outcome, decode, encode

Process = subprocess.Popen[bytes]

# The folder of the script, not ours nor the current one, comes first on its path.
_PROGRAM = (
    "import sys; sys.path[0] or sys.path.pop(0); sys.path.insert(0, sys.argv.pop()); "
    "import feedline.session.child; sys.path.pop(0); feedline.session.child.main()"
)
_AFTER_VERDICT_S = 40.0
_AFTER_CTRL_C_S = 10.0


class CannotStart(Exception):
    """The system does not give what is needed to speak to the process."""


@dataclass(frozen=True)
class Streams:
    """What the process starts with. `hidden`: nobody sees what it prints; feedline in
    it still speaks to our standard error. `stdin` is None where it has ours."""

    stdin: int | None = None
    hidden: bool = False
    environment: Mapping[str, str] | None = None


class Manner:
    """How to wait for it."""

    def received(self, process: Process, got: Received) -> None:
        pass_on(process, got)

    def look(self, process: Process, outcome: Channel) -> None:
        """Twice a second."""


class Running(Manner):
    """`held` are signals for the script, kept until it has a handler for them."""

    def __init__(self, held: tuple[int, ...] = ()) -> None:
        self._held = list(held)

    def look(self, process: Process, outcome: Channel) -> None:  # noqa: ARG002
        for number in [n for n in self._held if catches(process.pid, n)]:
            self._held.remove(number)
            with suppress(OSError):
                os.kill(process.pid, number)


class Measuring(Manner):
    """Once its outcome is known, or it was told to end, it has a little time left to
    clean up. A second Ctrl-C does not wait."""

    def __init__(self) -> None:
        self.interrupted = False
        self._until: float | None = None

    def received(self, process: Process, got: Received) -> None:
        pass_on(process, got)
        if got.is_one_of("SIGINT"):
            if self.interrupted:
                process.kill()
            self.interrupted = True
            self._limit(_AFTER_CTRL_C_S)
        elif got.is_one_of("SIGTERM", "SIGHUP"):
            self._limit(_AFTER_VERDICT_S)

    def look(self, process: Process, outcome: Channel) -> None:
        if self._until is None and outcome.get() is not None:
            self._limit(_AFTER_VERDICT_S)
        if self._until is not None and time.monotonic() > self._until:
            process.kill()

    def _limit(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        self._until = until if self._until is None else min(self._until, until)


def run_child(
    order: Order, signals: Signals, manner: Manner, streams: Streams | None = None
) -> tuple[Outcome, int]:
    """Run it to its end: what it sent, and its exit code or the negative number of the
    signal that killed it."""
    with ExitStack() as stack:
        try:
            given, outcome = Channel.make(), Channel.make()
            stack.callback(given.close)
            stack.callback(outcome.close)
            process = _start(order, given, outcome, signals, streams or Streams())
        except OSError as error:
            raise CannotStart(error.strerror or str(error)) from None
        code = follow(
            process,
            signals,
            lambda got: manner.received(process, got),
            lambda: manner.look(process, outcome),
        )
        return _heard(outcome), code


def run_plain(target: tuple[str, ...], module: bool, signals: Signals) -> int:
    """The script as Python runs it, where feedline cannot be beside it."""

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, signals.before)

    command = [sys.executable, *_flags(), *(["-m"] if module else []), *target]
    posix = hasattr(signal, "pthread_sigmask")
    process = subprocess.Popen(
        command,
        close_fds=False,
        preexec_fn=unblock if posix else None,  # noqa: PLW1509
    )
    return follow(process, signals, lambda got: pass_on(process, got))


def catches(pid: int, number: int) -> bool:
    """Has this process a handler for the signal?"""
    with suppress(OSError, ValueError, IndexError):
        with open(f"/proc/{pid}/status") as file:
            lines = [line for line in file if line.startswith("SigCgt:")]
        return bool(int(lines[0].split()[1], 16) >> (number - 1) & 1)
    return False


def _start(
    order: Order, given: Channel, outcome: Channel, signals: Signals, streams: Streams
) -> Process:
    voice = _standard_error() if streams.hidden else None
    ours = [each for each in (given.inherited, outcome.inherited, voice) if each]
    blocks = hasattr(signal, "sigtimedwait")
    order = structs.replace(
        order,
        parent=os.getpid(),
        voice=voice,
        unblocked=tuple(sorted(signals.before)) if blocks else None,
    )
    given.put(encode(order))
    home = str(Path(__file__).parents[2])
    command = [sys.executable, *_flags(), "-c", _PROGRAM]
    silent = subprocess.DEVNULL if streams.hidden else None
    try:
        with _inheritable(ours):
            # What the user has open for the script (`<(...)`, `3>log`) is its own; a
            # rehearsal must not use any of it up.
            return subprocess.Popen(
                [*command, given.address, outcome.address, home],
                stdin=streams.stdin,
                stdout=silent,
                stderr=silent,
                close_fds=streams.hidden,
                pass_fds=ours if streams.hidden else (),
                start_new_session=streams.hidden,
                env=None if streams.environment is None else {**streams.environment},
            )
    finally:
        if voice is not None:
            os.close(voice)


def _standard_error() -> int | None:
    with suppress(OSError):
        return os.dup(2)
    return None


@contextmanager
def _inheritable(numbers: list[int]) -> Iterator[None]:
    for number in numbers:
        os.set_inheritable(number, True)
    try:
        yield
    finally:
        for number in numbers:
            os.set_inheritable(number, False)


def _flags() -> list[str]:
    """As this Python was started: `-W error`, `-X dev`."""
    flags: list[str] = getattr(subprocess, "_args_from_interpreter_flags", list)()
    return flags


def _heard(outcome: Channel) -> Outcome:
    data = outcome.get()
    try:
        return Outcome() if data is None else decode(Outcome, data)
    except ValueError:  # another version of us, or nonsense
        return Outcome()
