"""Before and after as a unified diff that `git apply` takes.

Bytes that are no UTF-8 (a source in Latin-1) are kept as surrogate escapes; who
writes the diff encodes them back.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

_CONTEXT = 3
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
    # What is the same at both ends need not be compared again, but for the context.
    first = max(0, _same(before, after) - _CONTEXT)
    most = min(len(before), len(after)) - first
    last = max(0, min(most, _same(before[::-1], after[::-1])) - _CONTEXT)
    old_lines, new_lines = before[first : len(before) - last], after[first:]
    new_lines = new_lines[: len(new_lines) - last]
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        a = _span(first + group[0][1], first + group[-1][2])
        b = _span(first + group[0][3], first + group[-1][4])
        yield f"@@ -{a} +{b} @@\n"
        for kind, a1, a2, b1, b2 in group:
            if kind == "equal":
                yield from (_ended(" " + line) for line in old_lines[a1:a2])
                continue
            yield from (_ended("-" + line) for line in old_lines[a1:a2])
            yield from (_ended("+" + line) for line in new_lines[b1:b2])


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
