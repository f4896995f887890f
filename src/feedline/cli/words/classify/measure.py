"""`feedline words classify test`: how well labels are found."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedline.cli.words.classify.layout import (
    Folder,
    FormatName,
    LabelColumn,
    Labels,
    TextColumn,
    Threshold,
    columns,
)
from feedline.cli.words.options import ForceJson, Json

if TYPE_CHECKING:
    from feedline.words.classify.score import Score, Scores

_SHOWN = 30


def measure(
    classifier: Folder,
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA", help="Labelled texts, as for train.", show_default=False
        ),
    ],
    k: Labels = 1,
    threshold: Threshold = 0.0,
    all_labels: Annotated[
        bool,
        typer.Option("--all", help=f"Print all labels, not only {_SHOWN}."),
    ] = False,
    format_name: FormatName = None,
    label: LabelColumn = None,
    text: TextColumn = None,
    json: Json = None,
    force: ForceJson = False,
) -> None:
    """Test a classifier on other labelled texts.

    Precision: of the labels found, the share that is right. Recall: of the
    labels that the texts have, the share that is found. Accuracy: of the texts,
    the share whose likeliest label is one of theirs. With one label for each
    text, and one found for each, the three are the same.

    \b
    Examples:
      feedline words classify test topics test.txt
      feedline words classify test topics test.txt --k 3 --json scores.json
    """
    from feedline.words.classify import load
    from feedline.words.formats.shared import target

    place = None if json is None else target.check(json, force=force)
    result = load(classifier).test(
        data,
        k,
        threshold,
        format=format_name,
        **columns(label, text),
    )
    _print(result, len(result.labels) if all_labels else _SHOWN)
    if place is not None:
        _save(result, place)


def _print(result: Scores, shown: int) -> None:
    typer.echo(f"{result.texts:,} texts, accuracy {result.accuracy:.4f}")
    typer.echo(
        f"\n{'label':<34}{'precision':>10}{'recall':>9}{'F1':>9}{'texts':>9}{'found':>9}"
    )
    met = [row for row in result.labels if row.texts or row.found]
    for row in met[:shown]:
        _print_row(row)
    if len(met) > shown:
        typer.echo(f"  ... and {len(met) - shown:,} labels more (--all)")
    typer.echo()
    _print_row(result.total)
    if result.unknown:
        typer.echo(
            f"{result.unknown:,} labels of these texts were never seen in training: "
            "missed."
        )
    if result.unlabelled:
        typer.echo(f"{result.unlabelled:,} texts without a label were left out.")


def _print_row(row: Score) -> None:
    from rich.cells import cell_len

    from feedline.report.text import printable, shorten

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    name = shorten(printable(row.name, encoding), 31)
    typer.echo(
        f"  {name}{' ' * (32 - cell_len(name))}{row.precision:>10.4f}"
        f"{row.recall:>9.4f}{row.f1:>9.4f}{row.texts:>9,}{row.found:>9,}"
    )


def _save(result: Scores, place: Path) -> None:
    import json

    from feedline.words.formats.shared import target

    def figures(row: Score) -> dict[str, Any]:
        more = {"precision": row.precision, "recall": row.recall, "f1": row.f1}
        return {**asdict(row), **more}

    data = {
        "schema": 1,
        "texts": result.texts,
        "k": result.k,
        "threshold": result.threshold,
        "accuracy": result.accuracy,
        "precision": result.precision,
        "recall": result.recall,
        "unknown": result.unknown,
        "unlabelled": result.unlabelled,
        "labels": [figures(row) for row in result.labels],
    }
    with target.written(place) as file:
        file.write((json.dumps(data, indent=2) + "\n").encode())
