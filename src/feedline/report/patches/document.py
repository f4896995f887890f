"""A source file under edit: changes are made one by one, each is checked, and
marks that were set before are still at the same code after it.

A file keeps its encoding, its byte-order mark, its kind of newlines and whether
the last line ends in one: only what a change puts in is new.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import libcst as cst

from feedline.fixes.patching import CannotEdit
from feedline.report.patches import lines
from feedline.report.patches.focus import focused
from feedline.report.patches.tree import Call, Tree

_BOM = b"\xef\xbb\xbf"


class CannotRead(Exception):
    """The file is no source that can be edited; the message says why."""


class Splice(NamedTuple):
    """The bytes from `start` to `end` become `new`."""

    start: int
    end: int
    new: bytes


Piece = bytes | tuple[int, int]
"""A new text is old ranges and new bytes, one after the other."""


class State(NamedTuple):
    text: bytes
    marks: dict[object, int]
    added: list[object]


class Document:
    """`marks` are offsets by name. A mark in `slots` stands for a place in a chain
    of calls and not for the call in it: it stays when calls change places. Unless
    `whole`, only what holds marks is sure to be in the tree."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._bom = _BOM if raw.startswith(_BOM) else b""
        try:
            found, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
            self.encoding = "utf-8" if self._bom else found
            text = raw[len(self._bom) :].decode(self.encoding)
            self.text = text.encode("utf-8")
            compiled(self.text)
        except (SyntaxError, ValueError, LookupError, RecursionError) as error:
            raise CannotRead(f"it is not Python source: {error}") from None
        if self.result() != raw:
            raise CannotRead(f"it cannot be read back as {self.encoding}")
        self.marks: dict[object, int] = {}
        self.slots: set[object] = set()
        self.added: list[object] = []
        self.whole = False

    @cached_property
    def tree(self) -> Tree:
        """Of the text as it now is."""
        try:
            return self._tree(self.text, self.marks)
        except (cst.ParserSyntaxError, cst.CSTValidationError, RecursionError):
            raise CannotEdit("libcst cannot read this file") from None

    def _tree(self, text: bytes, marks: dict[object, int]) -> Tree:
        if self.whole:
            return Tree(text)
        return Tree(text, focused(text, parsed(text), marks.values()))

    def result(self) -> bytes:
        """The file with all changes."""
        return self._bom + self.text.decode("utf-8").encode(self.encoding)

    # ----------------------------------------------------------------- changes

    def splice(self, *splices: Splice) -> None:
        """All at once: the positions are those of the text before."""
        pieces: list[Piece] = []
        done = 0
        for start, end, new in sorted(splices):
            pieces += [(done, start), new]
            done = end
        self._become([*pieces, (done, len(self.text))])

    def swap(
        self, first: tuple[int, int], second: tuple[int, int], calls: tuple[Call, Call]
    ) -> None:
        """Two ranges change places, and with them these two calls."""
        (a, b), (c, d) = first, second
        one, other = calls
        held = [name for name in self.slots if self.marks[name] == other.at]
        self.marks["swapped"] = one.at
        self._become([(0, a), (c, d), (b, c), (a, b), (d, len(self.text))])
        at = self.marks.pop("swapped")
        self.marks.update(dict.fromkeys(held, at))

    def state(self) -> State:
        """What `restore` needs to have everything as it now is."""
        return State(self.text, dict(self.marks), list(self.added))

    def restore(self, state: State) -> None:
        if self.text != state.text:
            self.__dict__.pop("tree", None)
        self.text = state.text
        self.marks, self.added = dict(state.marks), list(state.added)

    def mark_added(self, at: int) -> None:
        """The call at this offset was put in by us."""
        name = ("added", len(self.added))
        self.added.append(name)
        self.marks[name] = at

    def is_added(self, call: Call) -> bool:
        return any(self.marks[name] == call.at for name in self.added)

    def _become(self, pieces: Sequence[Piece]) -> None:
        new = b"".join(
            piece if isinstance(piece, bytes) else self.text[slice(*piece)]
            for piece in pieces
        )
        marks = {name: _moved(at, pieces) for name, at in self.marks.items()}
        try:
            new.decode("utf-8").encode(self.encoding)
            compiled(new)
            tree = self._tree(new, marks)
        except (SyntaxError, ValueError, cst.ParserSyntaxError, RecursionError) as e:
            self.marks.pop("swapped", None)
            raise CannotEdit(f"the result would not be valid Python: {e}") from None
        self.marks, self.text, self.tree = marks, new, tree

    def insert_lines(self, number: int, new: Sequence[bytes]) -> bool:
        """Comment lines above a line; refused (False) where this would change what
        the code means, as in the middle of a string. Works without libcst too."""
        text = self.text
        at = lines.starts(text)[number - 1]
        inserted = b"".join(line + lines.newline(text) for line in new)
        changed = text[:at] + inserted + text[at:]
        if meaning(changed) != meaning(text):
            return False
        pieces: list[Piece] = [(0, at), inserted, (at, len(text))]
        self.marks = {name: _moved(at, pieces) for name, at in self.marks.items()}
        self.text = changed
        self.__dict__.pop("tree", None)
        return True


def compiled(text: bytes) -> None:
    """Raises what Python raises where the text does not compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(text.decode("utf-8"), "<patched>", "exec", dont_inherit=True)


def parsed(text: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text.decode("utf-8"))


def meaning(text: bytes) -> str | None:
    """Equal for texts that are the same program, None for one that is none."""
    try:
        return ast.dump(parsed(text))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _moved(at: int, pieces: Sequence[Piece]) -> int:
    """Where an offset of the old text is in the new one; what was replaced is at
    the end of what replaced it."""
    length = 0
    best: tuple[int, int] | None = None
    for piece in pieces:
        if isinstance(piece, bytes):
            length += len(piece)
            continue
        start, end = piece
        if start <= at < end:
            return length + at - start
        if start >= at and (best is None or start < best[0]):
            best = (start, length)
        length += end - start
    return best[1] if best else length
