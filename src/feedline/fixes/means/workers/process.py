"""A forked child that answers calls, and everything about its life.

It lives as long as its parent wants it: it ends when the parent closes its end,
or is gone. No death signal is asked of the kernel, because that comes when the
thread that forked ends, not the process.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from feedline.fixes.means.errors import Refused
from feedline.fixes.means.workers.fork import compute_alone, fork
from feedline.fixes.means.workers.shared_pickle import Region
from feedline.job.private.tensorflow import EAGER_CALLS

REGION_BYTES = 256 * 2**20
_READY_S = 20.0
_LOOK_S = 1.0
_END_S = 0.3
_LEAVE_S = 3.0
_forking = threading.Lock()
_alive: weakref.WeakSet[Child] = weakref.WeakSet()


class Lost(Exception):
    """The child is dead, or does not answer."""


class Failed(Exception):
    """The call raised in the child. `error` is the exception, None where it
    cannot be sent; `text` its traceback in words."""

    def __init__(self, error: BaseException | None, text: str) -> None:
        super().__init__(text)
        self.error = error
        self.text = text


class TensorFlowUsed(Exception):
    """TensorFlow was called in a child, where it must not be."""


class CannotSend(Exception):
    """A value that cannot be pickled."""


class Channel:
    """One line to a child: a pipe for words, shared memory for arrays. One call
    at a time."""

    def __init__(self, size: int = REGION_BYTES) -> None:
        self.mine, self.theirs = Pipe()
        self.region = Region(size)

    def send(self, value: Any) -> None:
        try:
            self.mine.send_bytes(self.region.put(value))
        except (OSError, ValueError) as error:
            raise Lost(f"the worker process is gone: {error}") from error

    def receive(self, patience: float) -> Any:
        """The next answer. Raises Lost, or Failed with what the child raised."""
        try:
            if not self.mine.poll(patience):
                raise Lost(f"the worker process has not answered for {patience:.0f} s")
            kind, value = self.region.take(self.mine.recv_bytes())
        except (EOFError, OSError) as error:
            raise Lost("the worker process has died") from error
        if kind == "failed":
            raise Failed(*_unpacked(value))
        return value

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.mine.close()


Serve = Callable[[Sequence["Inside"]], None]


class Child:
    """A process that runs `serve` over the other ends of so many channels."""

    def __init__(self, serve: Serve, lines: int, size: int = REGION_BYTES) -> None:
        alone = compute_alone()
        self._owner = os.getpid()
        self._ended = False
        self._waiting = threading.Lock()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        # One at a time: a process forked meanwhile would hold the pipes open.
        with _forking:
            self.channels = [Channel(size) for _ in range(lines)]
            self.pid = fork()
            if self.pid == 0:
                _live(serve, self.channels, self._owner, alone)
            for channel in self.channels:
                channel.theirs.close()
            _alive.add(self)
        try:
            if self.channels[0].receive(_READY_S) != "ready":
                raise Lost("it speaks out of turn")
        except (Lost, Failed) as error:
            self.kill()
            raise Refused(f"a worker process does not start: {error}") from error

    @property
    def is_mine(self) -> bool:
        """False in a process that the script has forked itself."""
        return os.getpid() == self._owner

    def close(self) -> None:
        """Let it end by itself, for a moment."""
        if not self.is_mine or self._ended:
            return
        for channel in self.channels:
            channel.close()
        until = time.monotonic() + _END_S
        while not self._is_gone() and time.monotonic() < until:
            time.sleep(0.005)
        self.kill()

    def kill(self) -> None:
        """End it now. Whoever waits for an answer learns that it is lost."""
        if not self.is_mine:
            return
        if not self._ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        while not self._is_gone():
            time.sleep(0.002)
        _alive.discard(self)

    def _is_gone(self) -> bool:
        """Once true, the number may be another process's: never signal it again."""
        with self._waiting:
            if not self._ended:
                try:
                    self._ended = os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
                except ChildProcessError:  # the script waits for children itself
                    self._ended = True
            return self._ended


class Inside:
    """A channel as the child sees it."""

    def __init__(self, channel: Channel, parent: int) -> None:
        self.pipe: Connection[Any, Any] = channel.theirs
        self._region = channel.region
        self._parent = parent

    def take(self) -> Any:
        """What the parent asks; ends the process when there is no parent."""
        while not self.pipe.poll(_LOOK_S):
            self.look()
        return self._region.take(self.pipe.recv_bytes())

    def look(self) -> None:
        if os.getppid() != self._parent:
            os._exit(0)

    def answer(self, value: Any) -> None:
        try:
            header = self._region.put(("value", value))
        except Exception as error:  # what the user's function gave cannot be sent
            self.fail(CannotSend(f"{type(error).__name__}: {error}"))
            return
        self.pipe.send_bytes(header)

    def fail(self, error: BaseException) -> None:
        text = "".join(traceback.format_exception(error))
        self.pipe.send_bytes(self._region.put(("failed", _packed(error, text))))


def answering(function: Callable[..., Any]) -> Serve:
    """Serve calls: arguments in, the result or the exception out."""

    def serve(lines: Sequence[Inside]) -> None:
        by_pipe: dict[Any, Inside] = {line.pipe: line for line in lines}
        while True:
            ready = wait(list(by_pipe), _LOOK_S)
            if not ready:
                lines[0].look()
            for pipe in ready:
                line = by_pipe[pipe]
                args = line.take()
                try:
                    result = function(*args)
                except BaseException as error:  # all of it is for the parent to judge
                    line.fail(error)
                else:
                    line.answer(result)

    return serve


def _live(
    serve: Serve, channels: Sequence[Channel], parent: int, alone: Callable[[], Any]
) -> None:
    """The whole life of the child; never returns."""
    status = 1
    try:
        alone()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        gc.freeze()
        for other in list(_alive):
            for channel in other.channels:
                channel.close()
        lines = [Inside(channel, parent) for channel in channels]
        for channel in channels:
            channel.close()
        _forbid_tensorflow()
        lines[0].answer("ready")
        serve(lines)
        status = 0
    except (EOFError, BrokenPipeError, ConnectionResetError):
        status = 0  # the parent has closed its end, or is gone
    except BaseException:
        with contextlib.suppress(BaseException):
            traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):
                stream.flush()
        os._exit(status)


def _forbid_tensorflow() -> None:
    """Its threads are not here: an op would wait for them for ever."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise TensorFlowUsed("TensorFlow cannot be used in a worker process")

    for module, names in EAGER_CALLS:
        for name in names:
            if hasattr(sys.modules.get(module), name):
                setattr(sys.modules[module], name, refuse)


def _packed(error: BaseException, text: str) -> tuple[bytes | None, str]:
    import pickle

    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:  # an exception class may fail in any way here
        return None, text
    return data, text


def _unpacked(value: tuple[bytes | None, str]) -> tuple[BaseException | None, str]:
    import pickle

    data, text = value
    try:
        return (pickle.loads(data) if data is not None else None), text
    except Exception:
        return None, text


class Calls:
    """The calls from TensorFlow's threads that are in our code just now.

    When the interpreter is finalised, a thread that comes back for its lock stays
    away for ever, and TensorFlow waits for it as long. So when the script ends,
    whoever waits for a worker must leave, and nobody may enter any more."""

    def __init__(self) -> None:
        self.leaving = False
        self._inside = 0
        self._change = threading.Condition()

    def __enter__(self) -> None:
        with self._change:
            self.check()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._change:
            self._inside -= 1
            self._change.notify_all()

    def check(self) -> None:
        if self.leaving:
            raise RuntimeError("the script has ended")

    def leave(self) -> None:
        self.leaving = True

    def wait(self) -> None:
        until = time.monotonic() + _LEAVE_S
        with self._change:
            while self._inside and (left := until - time.monotonic()) > 0:
                self._change.wait(left)


calls = Calls()


def _end_all() -> None:
    calls.leave()
    for child in list(_alive):
        child.kill()
    calls.wait()
    time.sleep(0.01)  # for the last ones to be out of Python


atexit.register(_end_all)
