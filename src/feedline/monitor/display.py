"""What a person sees while the job trains.

On a terminal one line is kept up to date. Keras draws its bar on the line where the
cursor is and begins every time with a carriage return; ours stands one line below,
and the cursor goes back up, so neither writes over the other. Where the output is no
terminal there is a line per epoch and nothing else. All goes to standard error: what
the script prints is its own.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TextIO

from rich.style import Style

from feedline.report.text import printable, shorten

_CLEAR = "\r\x1b[2K"
_UP = "\x1b[1A\r"
_STYLE = Style.parse("cyan")


class Display:
    """`live` is what the user asked for: None is to see for oneself."""

    def __init__(self, live: bool | None, file: TextIO | None = None) -> None:
        self._file = file
        self._live = live
        self._drawn = ""  # where our line stands: "", "here" or "below"

    @property
    def _out(self) -> TextIO:
        return sys.stderr if self._file is None else self._file

    @property
    def moves(self) -> bool:
        """May a line be drawn over?"""
        if self._live is not None:
            return self._live
        return _is_terminal(self._out) and os.environ.get("TERM") != "dumb"

    @property
    def silent(self) -> bool:
        return self._live is False

    def draw(self, line: str, *, bar: bool) -> None:
        """Bring the line up to date; `bar`: Keras draws one above."""
        if not self.moves:
            return
        below = bar and _is_terminal(sys.stdout)
        text = self._styled(line)
        if below:
            self._write(f"\n{_CLEAR}{text}{_UP}")
        else:
            self._write(f"{_CLEAR}{text}\r")
        self._drawn = "below" if below else "here"

    def erase(self, *, bar_done: bool = True) -> None:
        """Take the line away. `bar_done`: Keras has ended its line, and the cursor
        stands where ours is."""
        if self._drawn == "below" and not bar_done:
            self._write(f"\n{_CLEAR}{_UP}")
        elif self._drawn:
            self._write(_CLEAR)
        self._drawn = ""

    def erase_here(self) -> None:
        if self._drawn == "here":
            self.erase()

    def tell(self, line: str) -> None:
        """A line that stays, once per epoch."""
        if not self.silent:
            self.erase()
            self._write(f"{self._styled(line) if self.moves else self._plain(line)}\n")

    def warn(self, text: str, *, bar: bool) -> None:
        """A paragraph that stays. A bar that is being drawn goes on below it."""
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        told = textwrap.fill(
            printable(text, encoding),
            max(40, min(self._width(), 100)),
            subsequent_indent="  ",
        )
        if not self.moves:
            self._write(f"{told}\n")
            return
        self.erase(bar_done=False)
        self._write(f"{chr(10) if bar else ''}{_CLEAR}{told}\n")

    def _plain(self, line: str) -> str:
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        return shorten(printable(line, encoding), self._width())

    def _styled(self, line: str) -> str:
        plain = self._plain(line)
        return plain if os.environ.get("NO_COLOR") else _STYLE.render(plain)

    def _width(self) -> int:
        if not _is_terminal(self._out):
            return 79
        return max(20, shutil.get_terminal_size().columns - 1)

    def _write(self, text: str) -> None:
        sys.stdout.flush()
        self._out.write(text)
        self._out.flush()


def _is_terminal(file: TextIO | None) -> bool:
    try:
        return file is not None and file.isatty()
    except (AttributeError, ValueError):
        return False
