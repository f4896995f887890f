"""Labelled texts: fastText's lines, the rows of a table, or pairs from Python.

    fasttext   __label__sports __label__tennis an early exit for the champion
    csv, tsv   label,text
               sports,"an early exit, for the champion"

In fastText's lines every word that starts with `__label__` is a label, wherever it
stands. In a table the columns are found by their names, `label` and `text`, or as
the caller names or numbers them; without a header the first column is the label
and the others are the text. Files may be packed: see files.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedline.errors import CorpusError
from feedline.files.sizes import size as shown_size
from feedline.words.text.readers import TextFile, find_files, open_text

PREFIX = b"__label__"
FORMATS = ("fasttext", "csv", "tsv")

Example = tuple[list[bytes], bytes]
"""Labels, and a text on one line."""
Column = str | int

_PIECE = 1 << 20
LONGEST_LINE = 1 << 28
_PACKED = (".gz", ".xz", ".zst", ".bz2")


@dataclass(frozen=True)
class Layout:
    """How examples lie in files. Columns of a table go by name or, from 1, by number.

    Without a format each file's name says it, and where it does not, the lines are
    fastText's.
    """

    format: str | None = None
    label: Column | None = None
    text: Sequence[Column] = ()

    def __post_init__(self) -> None:
        if self.format not in (None, *FORMATS):
            raise CorpusError(
                f"{self.format!r} is not a format of labelled text: give one of "
                f"{', '.join(FORMATS)}."
            )

    def of(self, path: str) -> str:
        """The format of one file."""
        if self.format is not None:
            return self.format
        name = Path(path)
        if name.suffix.lower() in _PACKED:
            name = name.with_suffix("")
        kind = name.suffix.lower().removeprefix(".")
        return kind if kind in ("csv", "tsv") else "fasttext"


class FileExamples:
    """The examples of some files, each time anew."""

    def __init__(
        self, names: Any, layout: Layout | None = None, *, labelled: bool = True
    ) -> None:
        self.files = find_files([names] if isinstance(names, str | Path) else names)
        sizes = [file.size for file in self.files]
        self.total = None if None in sizes else sum(size or 0 for size in sizes)
        self.done = 0
        self._layout = layout or Layout()
        self._labelled = labelled

    def __iter__(self) -> Iterator[Example]:
        self.done = before = 0
        for file in self.files:
            kind = self._layout.of(file.path)
            lines = self._lines(file, before)
            if kind == "fasttext":
                yield from _from_lines(lines, file.path)
            else:
                from feedline.words.classify.table import rows_of

                comma = "," if kind == "csv" else "\t"
                yield from rows_of(
                    lines, file.path, comma, self._layout, labelled=self._labelled
                )
            before += file.size or 0
            self.done = before

    def _lines(self, file: TextFile, before: int) -> Iterator[bytes]:
        """Lines, with their ends."""
        buffer = bytearray(_PIECE)
        with open_text(file) as stream, memoryview(buffer) as view:
            rest = b""
            while size := stream.readinto(view):
                self.done = before + stream.position()
                lines = (rest + view[:size]).split(b"\n")
                rest = lines.pop()
                if len(rest) > LONGEST_LINE:
                    raise CorpusError(
                        f"{file.path}: a line is longer than "
                        f"{shown_size(LONGEST_LINE)}. One line is one text: is it the "
                        "right file?"
                    )
                for line in lines:
                    yield line + b"\n"
            if rest:
                yield rest


def from_pairs(pairs: Iterable[Any]) -> Iterator[Example]:
    """Pairs of a text and its label, or its list of labels."""
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise CorpusError(
                f"example {number} is {shown(pair)}, no pair of a text and its label: "
                'give ("a fine film", "positive").'
            )
        text, labels = pair
        labels = [labels] if isinstance(labels, str) else labels
        if not isinstance(labels, tuple | list | set | frozenset) or not all(
            isinstance(label, str) for label in labels
        ):
            raise CorpusError(
                f"example {number}: the label is {shown(pair[1])}. A label is a "
                "string, or a list of them: use str(label)."
            )
        yield [label_of(label, f"example {number}") for label in labels], one_line(text)


def one_line(text: object) -> bytes:
    """A text as a line without an end."""
    if not isinstance(text, str):
        raise CorpusError(
            f"{shown(text)} is a {type(text).__name__}, not a text: give strings."
        )
    return text.encode("utf-8", "surrogatepass").replace(b"\n", b" ")


def divided(line: bytes) -> Example:
    """The labels of a line of fastText's, with their prefix, and the rest of it."""
    labels: list[bytes] = []
    rest = line.strip()
    while rest.startswith(PREFIX):
        parts = rest.split(None, 1)
        labels.append(parts[0])
        rest = parts[1] if len(parts) > 1 else b""
    if PREFIX in rest:
        words = rest.split()
        labels += [word for word in words if word.startswith(PREFIX)]
        rest = b" ".join([word for word in words if not word.startswith(PREFIX)])
    return labels, rest


def unlabelled(line: bytes) -> str:
    """The text of a line, whatever labels are in it."""
    return divided(line)[1].decode("utf-8", "replace")


def _from_lines(lines: Iterable[bytes], name: str) -> Iterator[Example]:
    for number, line in enumerate(lines, 1):
        labels, rest = divided(line)
        if PREFIX in labels:
            raise CorpusError(
                f"{name}, line {number}: the label has no name, only "
                f"{PREFIX.decode()}. Labels look like {PREFIX.decode()}sports."
            )
        yield [label.removeprefix(PREFIX) for label in labels], rest


def label_of(label: str, where: str) -> bytes:
    name = label.strip()
    if not name:
        raise CorpusError(f"{where}: the label is empty. Give each text a label.")
    return name.encode("utf-8", "surrogatepass")


def shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
