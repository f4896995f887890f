"""`feedline words export`: vectors for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from feedline.cli.words.query import Format, Source, load


class WithFormats(TyperCommand):
    """Lists the formats in the help; only then are they loaded."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        from feedline.words import formats

        rows = []
        for name, known in formats.all().items():
            if known.write is not None:
                ends = "(a directory)" if known.folder else " ".join(known.endings)
                shown = f"{name} *" if known.packed else name
                rows.append((f"{shown:18} {ends}", known.used_by))
        with formatter.section("Formats, OUT, read by"):
            formatter.write_dl(rows, col_max=40)


def export(
    vectors: Source,
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="Where to.", show_default=False)
    ],
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="One of those below.  [default: by the name of OUT]",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Only the N most frequent words."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite OUT if it exists.")
    ] = False,
    source_format: Format = None,
) -> None:
    """Write vectors in the format of another program.

    VECTORS is a directory that `feedline words train` wrote, or any file of
    vectors that feedline reads, so this converts between formats too.

    Formats are listed below. Those with a * are compressed where OUT ends with
    .gz, as in vectors.vec.gz.

    \b
    Examples:
      feedline words export vectors vectors.vec
      feedline words export vectors lookup --format savedmodel
      feedline words export vectors board --format projector --limit 10000
      feedline words export GoogleNews-vectors-negative300.bin news.npz
    """
    from feedline.words import formats

    chosen = format_name or formats.guess(out)
    formats.check(out, chosen, force=force)
    found = load(Path(vectors), source_format).first(limit)
    formats.write(found, out, chosen, force=force)
    if found.subwords is not None and not formats.all()[chosen].subwords:
        typer.echo(
            "The subwords were left out: this format cannot hold them.", err=True
        )
    typer.echo(f"{out}: {len(found):,} words, dimension {found.dim}, {chosen}")
