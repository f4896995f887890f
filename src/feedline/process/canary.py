"""Was a signal sent to feedline alone, or to all of its process group?

`kill PID` reaches feedline, which must pass it on to the script; Ctrl-C, `kill %1` and
`timeout` reach both, and a script that gets a signal twice may break off what it does
to end well. The kernel does not say which it was. So a small process of the same group,
with nothing to do, blocks every signal: what is pending there was sent to the group.
Where /proc does not tell what is pending, only signals of the terminal are known.

It outlives a feedline that is killed, and then removes the folders for temporary files
that feedline would have removed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from time import sleep

# Its command line has the words of the script's process, for `pkill -f`.
_PROGRAM = """\
import os, shutil, signal, sys, time  # and not: import feedline.session.child
folders = []
for line in sys.stdin:
    what, value = line.split()
    if what == "forget":
        while signal.sigtimedwait({int(value)}, 0):
            pass
    else:
        path = bytes.fromhex(value)
        folders.append((path, os.stat(path)))
for path, facts in folders * 2:
    if os.path.exists(path) and os.path.samestat(os.stat(path), facts):
        shutil.rmtree(path, ignore_errors=True)
        time.sleep(0.5)  # until the last process that writes there is gone
"""
_PENDING = "ShdPnd:"
_A_MOMENT_S = 0.02  # until a signal has reached all of the group


class Canary:
    def __init__(self) -> None:
        """To be made with every signal blocked: it stays so there."""
        self._process: subprocess.Popen[bytes] | None = None
        if sys.platform.startswith("linux"):
            with suppress(OSError):
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _PROGRAM],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )

    def heard(self, number: int) -> bool | None:
        """Did it get this signal too? None where that cannot be told."""
        if self._process is None:
            return None
        sleep(_A_MOMENT_S)
        try:
            with open(f"/proc/{self._process.pid}/status") as file:
                lines = [line for line in file if line.startswith(_PENDING)]
            found = int(lines[0].split()[1], 16) >> (number - 1) & 1
            if found:
                self._tell(f"forget {number}")
        except (OSError, ValueError, IndexError):
            return None
        return bool(found)

    def remember(self, folder: str) -> None:
        """To be removed, should feedline be killed."""
        with suppress(OSError):
            self._tell(f"folder {os.fsencode(folder).hex()}")

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            with suppress(OSError, BrokenPipeError):
                self._process.communicate()
            self._process = None
