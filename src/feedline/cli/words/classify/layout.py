"""The options that several commands share: the classifier, how labelled texts lie in
files, how many labels are wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Folder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="What `train` saved.", show_default=False),
]
Labels = Annotated[
    int, typer.Option("-k", "--k", metavar="N", min=1, help="Labels for each text.")
]
Threshold = Annotated[
    float,
    typer.Option(
        metavar="P", min=0.0, max=1.0, help="Only labels at least this likely."
    ),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="fasttext, csv or tsv.  [default: by the file name]",
        show_default=False,
        rich_help_panel="Layout of files",
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="csv, tsv: the column of labels, by name or number.",
        show_default=False,
        rich_help_panel="Layout of files",
    ),
]
TextColumn = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="csv, tsv: a column of text; may be repeated.",
        show_default=False,
        rich_help_panel="Layout of files",
    ),
]


def column(name: str) -> str | int:
    """A column by name, or by number where it is one."""
    return int(name) if name.isascii() and name.isdigit() else name


def columns(label: str | None, text: list[str] | None) -> dict[str, Any]:
    """Both, as the functions of `classify` take them."""
    return {
        "label": None if label is None else column(label),
        "text": tuple(column(name) for name in text or ()),
    }
