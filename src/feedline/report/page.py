"""A page of text: how wide its lines may be and what its letters may be."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from feedline.report.text import printable, shorten


@dataclass(frozen=True)
class Page:
    """How wide a line may be and what its letters may be."""

    width: int
    encoding: str

    @property
    def rich(self) -> bool:
        return self.encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig")

    def safe(self, text: str) -> str:
        return printable(text, self.encoding)

    def fit(self, text: str, width: int) -> str:
        """Foreign text in so many cells, its middle left out if need be."""
        return shorten(self.safe(text), width, "…" if self.rich else "...")

    def wrap(
        self, text: str, *, first: str = "", indent: str = "", style: str = ""
    ) -> Iterator[Text]:
        """Foreign text broken at words; `first` stands before the first line."""
        room = self.width - max(cell_len(first), cell_len(indent))
        lead = first
        for line in Text(self.safe(text)).wrap(_RULER, room):
            yield Text(lead).append(line.plain, style)
            lead = indent


_RULER = Console(file=io.StringIO(), width=80, _environ={})
