"""A source text as libcst sees it: every call, with positions in bytes.

libcst keeps every character, and tells where each node lies; the text itself is
then edited at these positions, so that what is not edited stays byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import libcst as cst
from libcst import metadata

from feedline.report.patches import lines


@dataclass(frozen=True, eq=False)
class Call:
    """`receiver.name(...)` or `name(...)`. `at` is where the name begins: no two
    calls share it, and it can be followed through changes of the text. `start` is
    where the receiver begins, `dot` where its dot stands, `end` is after the
    closing bracket."""

    node: cst.Call
    name: str
    at: int
    start: int
    end: int
    dot: int | None

    @property
    def receiver(self) -> cst.BaseExpression | None:
        func = self.node.func
        return func.value if isinstance(func, cst.Attribute) else None


class Tree:
    """`text` is UTF-8, whatever the file is. `seen` is the same text with parts
    blanked out that need not be looked at; see `focus.py`. Raises
    `cst.ParserSyntaxError`."""

    def __init__(self, text: bytes, seen: bytes | None = None) -> None:
        self.text = text
        code = (text if seen is None else seen).decode("utf-8")
        self._metadata = metadata.MetadataWrapper(
            cst.parse_module(code), unsafe_skip_copy=True
        )
        self.module = self._metadata.module
        self._spans = self._metadata.resolve(metadata.ByteSpanPositionProvider)
        self._parents = {
            child: node for node in self._spans for child in _children(node)
        }

    # ------------------------------------------------------------------- nodes

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """In the order in which they stand."""
        found = [call for node in self._spans if (call := self._call(node))]
        return tuple(sorted(found, key=lambda call: call.at))

    def _call(self, node: cst.CSTNode) -> Call | None:
        if not isinstance(node, cst.Call):
            return None
        start, end = self.span(node)
        func = node.func
        if isinstance(func, cst.Attribute):
            at, dot = self.span(func.attr)[0], self.span(func.dot)[0]
            return Call(node, func.attr.value, at, start, end, dot)
        if isinstance(func, cst.Name):
            return Call(node, func.value, self.span(func)[0], start, end, None)
        return None

    def call_at(self, at: int) -> Call | None:
        return next((call for call in self.calls if call.at == at), None)

    def call_of(self, node: cst.CSTNode | None) -> Call | None:
        return next((call for call in self.calls if call.node is node), None)

    def nodes(self) -> Iterator[cst.CSTNode]:
        yield from self._spans

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        found = self._spans[node]
        return found.start, found.start + found.length

    def code(self, node: cst.CSTNode) -> str:
        return self.module.code_for_node(node)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What the node stands in, the nearest first."""
        up = self.parent(node)
        while up is not None:
            yield up
            up = self.parent(up)

    def function(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The nearest function or class around it."""
        scopes = cst.FunctionDef | cst.Lambda | cst.ClassDef
        return next((up for up in self.around(node) if isinstance(up, scopes)), None)

    def names(self, node: cst.CSTNode) -> metadata.Scope:
        """What is bound where the node stands."""
        found = self._metadata.resolve(metadata.ScopeProvider)
        here = (found.get(each) for each in (node, *self.around(node)))
        return next(scope for scope in here if scope is not None)

    # ------------------------------------------------------------------- lines

    def line(self, offset: int) -> int:
        """The number of the line, from 1."""
        return lines.number(self.text, offset)

    def line_start(self, offset: int) -> int:
        return lines.starts(self.text)[self.line(offset) - 1]

    def line_end(self, offset: int) -> int:
        """Where the line ends, its newline left out."""
        return lines.end(self.text, offset)

    @property
    def newline(self) -> bytes:
        return lines.newline(self.text)

    def before(self, offset: int) -> bytes:
        """The part of the line before this offset."""
        return self.text[self.line_start(offset) : offset]

    def is_first(self, offset: int) -> bool:
        """Does nothing but blanks stand before it on its line?"""
        return not self.before(offset).strip()

    def is_last(self, offset: int) -> bool:
        """Does nothing but a comment follow on its line?"""
        rest = self.text[offset : self.line_end(offset)].strip()
        return not rest or rest.startswith(b"#")

    def continues(self, offset: int) -> bool:
        """Is its line the continuation of one that ends in a backslash?"""
        start = self.line_start(offset)
        return self.text[:start].rstrip(b"\r\n").endswith(b"\\")


def _children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """libcst's own `children` goes through a visitor and takes ten times as long."""
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, list | tuple):
            yield from (each for each in value if isinstance(each, cst.CSTNode))
