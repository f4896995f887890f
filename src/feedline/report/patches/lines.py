"""Lines of a text in bytes, as Python counts them: `\\n`, `\\r\\n` or `\\r` end one."""

from __future__ import annotations

import bisect
import re
from functools import lru_cache

_NEWLINE = re.compile(rb"\r\n|\r|\n")


@lru_cache(maxsize=8)
def starts(text: bytes) -> tuple[int, ...]:
    """Where each line begins."""
    return (0, *(found.end() for found in _NEWLINE.finditer(text)))


def number(text: bytes, offset: int) -> int:
    """The line of an offset, from 1."""
    return bisect.bisect_right(starts(text), offset)


def end(text: bytes, offset: int) -> int:
    """Where the line of an offset ends, its newline left out."""
    found = _NEWLINE.search(text, offset)
    return found.start() if found else len(text)


def get(text: bytes, line: int) -> bytes:
    """The line of this number without its newline, empty where there is none."""
    found = starts(text)
    if not 1 <= line <= len(found):
        return b""
    return text[found[line - 1] : end(text, found[line - 1])]


def newline(text: bytes) -> bytes:
    """What ends the first line."""
    found = _NEWLINE.search(text)
    return found.group() if found else b"\n"


def indent(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip(b" \t\f"))]
