"""Before and after as a unified diff that `git apply` takes.

Bytes that are no UTF-8 (a source in Latin-1) are kept as surrogate escapes; who
writes the diff encodes them back.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Literal

_CONTEXT = 3
_Kind = Literal["replace", "delete", "insert", "equal"]
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
    for group in _Changes(before, after).get_grouped_opcodes(_CONTEXT):
        yield f"@@ -{_span(group[0][1], group[-1][2])}"
        yield f" +{_span(group[0][3], group[-1][4])} @@\n"
        for kind, a1, a2, b1, b2 in group:
            if kind == "equal":
                yield from (_ended(" " + line) for line in before[a1:a2])
                continue
            yield from (_ended("-" + line) for line in before[a1:a2])
            yield from (_ended("+" + line) for line in after[b1:b2])


class _Changes(difflib.SequenceMatcher[str]):
    """What is the same at both ends is not compared again. It is still there as
    context: git takes a hunk without any after it for the end of the file."""

    def __init__(self, before: list[str], after: list[str]) -> None:
        self.sizes = len(before), len(after)
        self.head = _same(before, after)
        rest, rest_too = before[self.head :], after[self.head :]
        self.tail = _same(rest[::-1], rest_too[::-1])
        middle = rest[: len(rest) - self.tail]
        middle_too = rest_too[: len(rest_too) - self.tail]
        super().__init__(None, middle, middle_too, autojunk=False)

    def get_opcodes(self) -> list[tuple[_Kind, int, int, int, int]]:
        head, tail, (old, new) = self.head, self.tail, self.sizes
        found: list[tuple[_Kind, int, int, int, int]] = [
            (kind, a1 + head, a2 + head, b1 + head, b2 + head)
            for kind, a1, a2, b1, b2 in super().get_opcodes()
        ]
        if head:
            found.insert(0, ("equal", 0, head, 0, head))
        if tail:
            found.append(("equal", old - tail, old, new - tail, new))
        return found


def _same(one: list[str], other: list[str]) -> int:
    """How many lines are equal from the start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _split(text: bytes) -> list[str]:
    """Lines as git counts them: only a line feed ends one."""
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    kept = [line + "\n" for line in lines[:-1]]
    return [*kept, lines[-1]] if lines[-1] else kept


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _span(start: int, end: int) -> str:
    length = end - start
    first = start + 1 if length else start
    return str(first) if length == 1 else f"{first},{length}"


def _quoted(name: str) -> str:
    """As git writes names that hold quotes, backslashes or control characters."""
    if _PLAIN.fullmatch(name):
        return name
    return '"' + "".join(map(_escaped, name)) + '"'


def _escaped(char: str) -> str:
    return _ESCAPES.get(char, char if char >= " " and char != "\x7f" else _octal(char))


def _octal(char: str) -> str:
    return f"\\{ord(char):03o}"
