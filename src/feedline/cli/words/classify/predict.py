"""`feedline words classify predict`: labels for new texts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, cast

import typer

from feedline.cli.words.classify.layout import (
    Folder,
    FormatName,
    Labels,
    TextColumn,
    Threshold,
    column,
)

if TYPE_CHECKING:
    from io import BufferedReader

_AT_ONCE = 5_000
_PIECE = 1 << 16


def predict(
    classifier: Folder,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Texts, one on each line; - is stdin."),
    ] = "-",
    k: Labels = 1,
    threshold: Threshold = 0.0,
    format_name: FormatName = None,
    text: TextColumn = None,
) -> None:
    """Print the likeliest labels of each text, a line for each.

    A line has a label, a tab and its probability; with --k the next label
    follows after another tab. A text with no label as likely as --threshold
    has an empty line. Labels in FILE (__label__...) are not looked at.

    \b
    Examples:
      feedline words classify predict topics new.txt
      echo "ministers meet in rome" | feedline words classify predict topics -k 3
      feedline words classify predict mood reviews.csv --text body
    """
    from feedline.words.classify import load

    loaded = load(classifier)
    if file == "-" and format_name in (None, "fasttext"):
        batches = _as_they_come()
    else:
        batches = _from_file(file, format_name, text or [])
    for texts in batches:
        lines = [
            "\t".join(f"{_safe(label)}\t{chance:.6f}" for label, chance in one)
            for one in loaded.predict(texts, k, threshold)
        ]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()


def _as_they_come() -> Iterator[list[str]]:
    """Lines of standard input: those that are there, so that an answer comes as soon
    as a line does."""
    from feedline.words.classify.examples import unlabelled

    source = cast("BufferedReader", sys.stdin.buffer)
    rest = b""
    while piece := source.read1(_PIECE):
        lines = (rest + piece).split(b"\n")
        rest = lines.pop()
        if lines:
            yield [unlabelled(line) for line in lines]
    if rest:
        yield [unlabelled(rest)]


def _from_file(
    name: str, format_name: str | None, text: list[str]
) -> Iterator[list[str]]:
    from feedline.words.classify.examples import FileExamples, Layout

    layout = Layout(format_name, None, tuple(column(one) for one in text))
    found = iter(FileExamples(name, layout, labelled=False))
    while some := list(islice(found, _AT_ONCE)):
        yield [line.decode("utf-8", "replace") for _, line in some]


def _safe(label: str) -> str:
    from feedline.report.text import printable

    return printable(label, getattr(sys.stdout, "encoding", None) or "utf-8")
