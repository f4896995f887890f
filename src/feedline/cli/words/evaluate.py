"""`feedline words evaluate`: analogies and word similarity, as gensim scores them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedline.cli.words.options import ForceJson, Json
from feedline.cli.words.query import Format, Source, load
from feedline.errors import FeedlineError

if TYPE_CHECKING:
    from feedline.words.vectors.evaluation import Analogies, Evaluation, Pairs, Section


def evaluate(
    vectors: Source,
    analogies: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Analogies, as in questions-words.txt."),
    ] = None,
    pairs: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Word pairs with scores, as in wordsim353.tsv; may be repeated.",
        ),
    ] = None,
    restrict: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Use the N most frequent words only."),
    ] = 300_000,
    case_sensitive: Annotated[
        bool,
        typer.Option("--case-sensitive", help="`Paris` is not `paris`."),
    ] = False,
    count_unknown: Annotated[
        bool,
        typer.Option(
            "--count-unknown", help="Questions with unknown words count as wrong."
        ),
    ] = False,
    json: Json = None,
    force: ForceJson = False,
    format_name: Format = None,
) -> None:
    """Score vectors on analogies and on human judgements of similarity.

    Analogies: lines `man king woman queen` under `: section` lines; solved
    where king - man + woman is nearest to queen. Pairs: lines of two words and
    a score, tabs between; the figure is Spearman's rank correlation.

    The numbers are gensim's for the same vectors. Compare only figures with
    the same --restrict: fewer words make easier questions.

    \b
    Examples:
      feedline words evaluate vectors --analogies questions-words.txt
      feedline words evaluate vectors --pairs wordsim353.tsv --pairs simlex999.txt
      feedline words evaluate glove.txt --analogies questions-words.txt \\
          --restrict 30000 --json scores.json
    """
    if analogies is None and not pairs:
        raise FeedlineError(
            "nothing to evaluate with: give --analogies FILE, --pairs FILE or both. "
            "gensim has such files: gensim.test.utils.datapath('questions-words.txt')"
        )
    from feedline.words.formats.shared import target

    place = None if json is None else target.check(json, force=force)

    from feedline.words.vectors.evaluation import evaluate as score

    found = load(Path(vectors), format_name)
    result = score(
        found,
        analogies,
        pairs or (),
        restrict=restrict,
        case_insensitive=not case_sensitive,
        dummy4unknown=count_unknown,
    )
    typer.echo(f"{min(restrict, len(found)):,} of {len(found):,} words")
    if result.analogies is not None:
        _print_analogies(result.analogies)
    if result.pairs:
        _print_pairs(result.pairs)
    if place is not None:
        _save(result, place, restrict)


def _print_analogies(result: Analogies) -> None:
    typer.echo(f"\n{'analogies':<36}{'solved':>8}{'asked':>9}{'':>9}{'unknown':>10}")
    for section in result.sections:
        _print_section(section)
    typer.echo()
    for section in (result.semantic, result.syntactic, result.total):
        _print_section(section)
    if result.skipped:
        typer.echo(f"  {result.skipped:,} lines are not four words: left out")


def _print_section(section: Section) -> None:
    from feedline.report.text import printable, shorten

    name = shorten(printable(section.name, "ascii"), 33)
    share = f"{section.accuracy:.1%}" if section.questions else "-"
    typer.echo(
        f"  {name:<34}{section.correct:>8,}{section.questions:>9,}{share:>9}"
        f"{section.unknown:>10,}"
    )


def _print_pairs(results: tuple[Pairs, ...]) -> None:
    from feedline.report.text import printable, shorten

    typer.echo(
        f"\n{'pairs':<36}{'Spearman':>10}{'Pearson':>10}{'pairs':>7}{'unknown':>9}"
    )
    for result in results:
        name = shorten(printable(result.name, "ascii"), 33)
        typer.echo(
            f"  {name:<34}{result.spearman:>10.4f}{result.pearson:>10.4f}"
            f"{result.pairs:>7,}{result.unknown:>9,}"
        )


def _save(result: Evaluation, place: Path, restrict: int) -> None:
    import json
    import math

    from feedline.words.formats.shared import target

    def row(section: Section) -> dict[str, Any]:
        return {**asdict(section), "accuracy": section.accuracy}

    answered = result.analogies
    data = {
        "schema": 1,
        "restrict": restrict,
        "analogies": None
        if answered is None
        else {
            "sections": [row(section) for section in answered.sections],
            "semantic": row(answered.semantic),
            "syntactic": row(answered.syntactic),
            "total": row(answered.total),
            "skipped": answered.skipped,
        },
        "pairs": [
            # NaN, the correlation with a constant, is no JSON.
            {k: None if v != v and math.isnan(v) else v for k, v in asdict(p).items()}
            for p in result.pairs
        ],
    }
    with target.written(place) as file:
        file.write((json.dumps(data, indent=2, allow_nan=False) + "\n").encode())
