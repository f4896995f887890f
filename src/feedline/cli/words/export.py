"""`feedline words export`: vectors for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from feedline.cli.words.query import Format, Source, load


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
            help="word2vec, word2vec-binary, glove, numpy, gensim, keras, "
            "savedmodel or projector; otherwise by the name of OUT.",
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

    \b
    Format            OUT              read by
      word2vec          .vec .txt .w2v   gensim, fastText, spaCy, most others
      word2vec-binary   .bin             gensim, word2vec
      glove             .glove           what reads GloVe's text, without a header
      numpy             .npz .npy        numpy.load; words in OUT's .txt with .npy
      gensim            .kv              gensim's KeyedVectors.load (a pickle)
      keras             .keras           keras.saving.load_model: words to vectors
      savedmodel        (a directory)    tf.saved_model.load: words to vectors
      projector         (a directory)    TensorBoard's embedding projector

    The first three are packed where OUT ends with .gz, as in vectors.vec.gz.

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
    found = formats.first(load(Path(vectors), source_format), limit)
    formats.write(found, out, chosen, force=force)
    if found.subwords is not None and chosen not in ("gensim", "savedmodel"):
        typer.echo(
            "The subwords were left out: this format has no place for them.", err=True
        )
    typer.echo(f"{out}: {len(found):,} words, dimension {found.dim}, {chosen}")
