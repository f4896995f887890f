"""Labelled texts in the rows of a table, by Python's own csv reader."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from feedline.errors import CorpusError
from feedline.words.classify.examples import (
    LONGEST_LINE,
    Column,
    Example,
    Layout,
    label_of,
    one_line,
    shown,
)


def rows_of(
    lines: Iterable[bytes], name: str, comma: str, layout: Layout, *, labelled: bool
) -> Iterator[Example]:
    decoded = (line.decode("utf-8", "replace") for line in lines)
    # Tabs divide and nothing is quoted in most .tsv files that have quotes in them.
    if comma == ",":
        rows = csv.reader(decoded, strict=True)
    else:
        rows = csv.reader(decoded, delimiter=comma, quoting=csv.QUOTE_NONE)
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        first = next(rows, None)
        if first is None:
            return
        columns = _Columns.of(first, layout, name, labelled=labelled)
        if not columns.header:
            yield columns.example(first, f"{name}, line {rows.line_num}")
        for row in rows:
            if row:
                yield columns.example(row, f"{name}, line {rows.line_num}")
    except csv.Error as error:
        raise CorpusError(
            f"{name}, line {rows.line_num}: {error}. Quotes around a text must be "
            'closed, and doubled inside it: "she said ""no""".'
        ) from None
    finally:
        csv.field_size_limit(before)


@dataclass(frozen=True)
class _Columns:
    """Which columns of a table are what."""

    label: int | None
    text: tuple[int, ...]
    width: int
    header: bool

    @classmethod
    def of(
        cls, first: list[str], layout: Layout, name: str, *, labelled: bool
    ) -> _Columns:
        names = {cell.strip().lower(): at for at, cell in enumerate(first)}
        named = any(isinstance(c, str) for c in (layout.label, *layout.text))
        header = named or "text" in names

        def place(column: Column) -> int:
            at = (
                column - 1 if isinstance(column, int) else names.get(column.lower(), -1)
            )
            if 0 <= at < len(first):
                return at
            raise CorpusError(
                f"{name} has no column {column!r}. Its {len(first)} columns are "
                f"{shown(', '.join(first))}; name one of them, or give its number, "
                "from 1."
            )

        label: int | None = None
        if layout.label is not None:
            label = place(layout.label)
        elif header:
            label = names.get("label")
        elif len(first) > 1:
            label = 0
        if layout.text:
            text = tuple(place(column) for column in layout.text)
        elif header:
            text = (place("text"),)
        else:
            text = tuple(at for at in range(len(first)) if at != label)
        if labelled and (label is None or not text):
            raise CorpusError(
                f"{name} has no column of labels and one of texts: its first row is "
                f"{shown(', '.join(first))}. Call them `label` and `text` in a "
                "header, or say which they are (--label, --text)."
            )
        return cls(label, text, len(first), header)

    def example(self, row: list[str], where: str) -> Example:
        if len(row) != self.width:
            raise CorpusError(
                f"{where}: {len(row)} columns, and the first row has {self.width}. "
                "Quote texts that hold the separator."
            )
        labels = [] if self.label is None else [label_of(row[self.label], where)]
        return labels, b" ".join([one_line(row[at]) for at in self.text])
