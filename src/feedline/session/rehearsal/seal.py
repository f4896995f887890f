"""A rehearsal leaves no trace: it ends before it writes, connects or starts anything.

Python tells of such things before it does them (its audit events). The first of them
that would be seen outside of the process ends it at once, with a sentence that says
what and on which line. Among the events of `os`, `socket` and the like, one that is not
known to be harmless counts as harm; so does reading a named pipe, which others would
miss. Two things are let through: what happens in the rehearsal's own folder for
temporary files, and what a library tries while it is imported, which is told that the
place is read-only. (Keras and Matplotlib keep a folder at home, and do without.)
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from feedline.job.source.lines import is_library, where_of

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_DEVICES = {"/dev/null", "/dev/zero", "/dev/full"}

_HARMLESS = {
    *("os.chdir", "os.fwalk", "os.getxattr", "os.listdir", "os.listdrives"),
    *("os.listmounts", "os.listvolumes", "os.listxattr", "os.putenv", "os.scandir"),
    *("os.unsetenv", "os.walk", "os.add_dll_directory"),
    *("socket.__new__", "socket.gethostname", "socket.getaddrinfo"),
    *("socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"),
    *("socket.getservbyname", "socket.getservbyport"),
}
# Of these, every event that is not harmless is harm.
_CLOSED = ("os.", "socket.", "subprocess.", "pty.", "syslog.", "webbrowser.")
# Their words; for each path among the arguments its position, and that of the folder
# that it is relative to, if there is one.
_PATHS: dict[str, tuple[str, tuple[tuple[int, int | None], ...]]] = {
    "os.chflags": ("changes the flags of", ((0, None),)),
    "os.chmod": ("changes the mode of", ((0, 2),)),
    "os.chown": ("changes the owner of", ((0, 3),)),
    "os.link": ("links", ((0, 2), (1, 3))),
    "os.mkdir": ("makes the folder", ((0, 2),)),
    "os.remove": ("removes", ((0, 1),)),
    "os.removexattr": ("changes", ((0, None),)),
    "os.rename": ("renames", ((0, 2), (1, 3))),
    "os.rmdir": ("removes the folder", ((0, 1),)),
    "os.setxattr": ("changes", ((0, None),)),
    "os.symlink": ("makes the link", ((1, 2),)),  # what it points to stays as it is
    "os.truncate": ("cuts off", ((0, None),)),
    "os.utime": ("changes the times of", ((0, 3),)),
}
_WORDS = {
    "os.exec": "becomes another program",
    "os.fork": "forks",
    "os.forkpty": "forks",
    "os.kill": "sends a signal",
    "os.killpg": "sends a signal",
    "os.lockf": "locks a file",
    "os.posix_spawn": "starts a program",
    "os.spawn": "starts a program",
    "os.system": "starts a program",
    "subprocess.Popen": "starts a program",
    "socket.bind": "listens at",
    "socket.connect": "connects to",
    "socket.sendto": "sends to",
    "socket.sendmsg": "sends to",
}


class Seal:
    """`end` is called with what happened and where, once, and does not come back."""

    def __init__(self, folder: str, end: Callable[[str], NoReturn]) -> None:
        self._folder = os.path.join(os.path.realpath(folder), "")
        self._end = end

    def close(self) -> None:
        """From now on, and for good."""
        for name in ("mkfifo", "mknod"):  # which Python does not tell of
            if hasattr(os, name):
                setattr(os, name, self._unheard(name, getattr(os, name)))
        sys.addaudithook(self._heard)

    def writes(self, path: object, words: str = "writes") -> None:
        """Somebody is about to change the file at `path`."""
        if not self._is_inside(path):
            self._harm(f"{words} {_shown(path)}", sys._getframe(1), path)

    def starts(self, what: str) -> None:
        """Somebody is about to start another process."""
        self._harm(what, sys._getframe(1), None)

    def _unheard(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **more: Any) -> Any:
            self.writes(path, "makes the pipe" if name == "mkfifo" else "makes")
            return original(path, *args, **more)

        return call

    # ------------------------------------------------------------------ events

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            self._opened(*args)
        elif event == "sqlite3.connect":
            if args[0] not in (":memory:", "", b":memory:"):
                self.writes(args[0], "opens the database")
        elif event in _PATHS:
            self._changed(event, args)
        elif event == "os.kill" and (args[1] == 0 or _is_child(args[0])):
            return  # does it live? Or a worker process of our own is ended
        elif event.startswith(_CLOSED) and event not in _HARMLESS:
            self._harm(_said(event, args), sys._getframe(1), None)

    def _opened(self, path: object, mode: object, flags: object) -> None:
        number = flags if isinstance(flags, int) else 0
        if isinstance(path, int):  # open already, by whom we have let
            return
        writes = bool(number & _WRITING) or (
            isinstance(mode, str) and bool(set(mode) & set("wax+"))
        )
        if writes:
            self.writes(path)
        elif _is_pipe(path):
            self._harm(f"reads the pipe {_shown(path)}", sys._getframe(2), path)

    def _changed(self, event: str, args: tuple[Any, ...]) -> None:
        words, places = _PATHS[event]
        for position, folder in places:
            at = args[folder] if folder is not None and folder < len(args) else -1
            path = args[position]
            if not self._is_inside(path, at if isinstance(at, int) else -1):
                self._harm(f"{words} {_shown(path)}", sys._getframe(2), path)

    def _is_inside(self, path: object, folder: int = -1) -> bool:
        """In the rehearsal's own folder, or a device where nothing is kept?"""
        try:
            if isinstance(path, int):
                name = os.readlink(f"/proc/self/fd/{path}")
            else:
                name = os.fsdecode(path)  # type: ignore[arg-type]
                if folder >= 0 and not os.path.isabs(name):
                    name = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), name)
            # The folder that it lies in, not what a link in it points to.
            head, tail = os.path.split(os.path.abspath(name))
            real = os.path.realpath(name)
            kept = os.path.join(os.path.realpath(head), tail)
        except (OSError, TypeError, ValueError):
            return False
        if real in _DEVICES:
            return True
        return all(f"{each}{os.sep}".startswith(self._folder) for each in (real, kept))

    # -------------------------------------------------------------------- harm

    def _harm(self, what: str, frame: FrameType | None, path: object) -> None:
        if self._while_importing(frame):
            name = os.fsdecode(path) if isinstance(path, str | bytes) else None
            raise PermissionError(errno.EACCES, "a rehearsal leaves no trace", name)
        where = where_of(frame)
        self._end(f"{where} {what}" if where is not None else f"a library {what}")

    def _while_importing(self, frame: FrameType | None) -> bool:
        """Is it a library that does it, because it is imported?"""
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith("<frozen importlib._bootstrap"):
                return True
            if not is_library(name):
                return False
            frame = frame.f_back
        return False


def _said(event: str, args: tuple[Any, ...]) -> str:
    words = _WORDS.get(event, f"does what a rehearsal may not ({event})")
    if event == "subprocess.Popen":
        program = args[0] or (args[1][0] if args[1] else "")
        return f"{words}: {_shown(program)}"
    if event == "os.system":
        return f"{words}: {_shown(args[0])}"
    if event.startswith("socket.") and len(args) > 1:
        address = args[1]
        if isinstance(address, tuple) and len(address) > 1:
            address = f"{address[0]}:{address[1]}"
        return f"{words} {_shown(address)}"
    return words


def _is_child(pid: object) -> bool:
    """Then feedline has started it: the script ends before it starts any."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # type: ignore[arg-type]
    except (OSError, OverflowError, TypeError):
        return False
    return True


def _is_pipe(path: object) -> bool:
    try:
        facts = os.stat(path)  # type: ignore[arg-type]
        if not stat.S_ISFIFO(facts.st_mode):
            return False
        own = os.fstat(0)  # `/dev/stdin`: it has its own
        return (own.st_dev, own.st_ino) != (facts.st_dev, facts.st_ino)
    except (OSError, TypeError, ValueError):
        return False


def _shown(path: object) -> str:
    try:
        name = os.fsdecode(path)  # type: ignore[arg-type]
    except TypeError:
        return str(path)
    here = os.path.join(os.getcwd(), "")
    shown = name.removeprefix(here).splitlines()[:1]
    return shown[0] if shown else repr(name)
