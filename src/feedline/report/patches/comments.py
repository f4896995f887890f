"""How what an edit says, where it cannot be made, gets into the source.

A comment stands above the statement that the line belongs to. It holds ASCII only,
so that it fits into a file of any encoding.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from feedline import fixes
from feedline.fixes.patching import Patch
from feedline.fixes.place import Place
from feedline.report.patches import lines
from feedline.report.patches.document import Document, parsed
from feedline.report.text import printable

_WIDTH = 88
_NARROWEST = 40


def said(place: Place, tune: str, reason: str = "") -> str:
    """What to do, as one line; `tune` is how this file calls AUTOTUNE."""
    fix = fixes.all().get(place.edit.fix)
    patch = Patch() if fix is None else fix.patch
    text = f"feedline: {place.edit.fix}: {patch.comment(place, tune)}"
    return printable(f"{text} ({reason})" if reason else text, "ascii")


def put(document: Document, at: int, text: str) -> bool:
    """Above the statement of this offset; False where no comment can stand."""
    line = lines.number(document.text, at)
    for above in _candidates(document, line):
        indent = lines.indent(lines.get(document.text, above))
        block = [indent + each for each in _wrapped(text, len(indent))]
        if _stands(document.text, above, block) or document.insert_lines(above, block):
            return True
    return False


def _wrapped(text: str, indent: int) -> list[bytes]:
    wrapped = textwrap.wrap(
        text,
        max(_NARROWEST, _WIDTH - indent),
        initial_indent="# ",
        subsequent_indent="#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.encode("ascii") for line in wrapped]


def _candidates(document: Document, line: int) -> Iterator[int]:
    """Lines to stand above: the start of the innermost statement, of those around
    it, then any line before (a string may have begun there)."""
    found = {
        node.lineno
        for node in ast.walk(parsed(document.text))
        if isinstance(node, ast.stmt)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    }
    yield from sorted(found, reverse=True)
    yield from range(line, 0, -1)


def _stands(text: bytes, line: int, block: list[bytes]) -> bool:
    """Is it among the comments above that line already?"""
    above: list[bytes] = []
    while line > 1 and (one := lines.get(text, line - 1)).lstrip().startswith(b"#"):
        above.insert(0, one.rstrip())
        line -= 1
    size = len(block)
    return any(above[n : n + size] == block for n in range(len(above) - size + 1))
