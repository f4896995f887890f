"""Before and after as a unified diff that `git apply` takes.

Bytes that are no UTF-8 (a source in Latin-1) are kept as surrogate escapes; who
writes the diff encodes them back.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator

_PLAIN = re.compile(r'[^\x00-\x1f\x7f"\\]*')
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def unified(path: str, before: bytes, after: bytes) -> str:
    """`path` is relative, with forward slashes. Empty where nothing changed."""
    if before == after:
        return ""
    return "".join(_lines(path, _split(before), _split(after)))


def _lines(path: str, before: list[str], after: list[str]) -> Iterator[str]:
    old, new = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    # A name with a blank in it is ended by a tab, as git does.
    end = "\t" if " " in path and not old.startswith('"') else ""
    yield f"diff --git {old} {new}\n--- {old}{end}\n+++ {new}{end}\n"
    found = difflib.unified_diff(before, after)
    yield from (_ended(line) for line in itertools.islice(found, 2, None))


def _split(text: bytes) -> list[str]:
    """Lines as git counts them: only a line feed ends one."""
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    kept = [line + "\n" for line in lines[:-1]]
    return [*kept, lines[-1]] if lines[-1] else kept


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _quoted(name: str) -> str:
    """As git writes names that hold quotes, backslashes or control characters."""
    if _PLAIN.fullmatch(name):
        return name
    return '"' + "".join(map(_escaped, name)) + '"'


def _escaped(char: str) -> str:
    return _ESCAPES.get(char, char if char >= " " and char != "\x7f" else _octal(char))


def _octal(char: str) -> str:
    return f"\\{ord(char):03o}"
