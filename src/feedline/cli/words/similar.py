"""`feedline words similar`: the words nearest to a word."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from feedline.cli.words.query import (
    Format,
    Number,
    Restrict,
    Source,
    load,
    print_neighbours,
)


def similar(
    vectors: Source,
    words: Annotated[
        list[str],
        typer.Argument(metavar="WORD", help="One or more.", show_default=False),
    ],
    number: Number = 10,
    together: Annotated[
        bool,
        typer.Option("--together", help="Nearest to the mean of the words, not each."),
    ] = False,
    restrict: Restrict = None,
    format_name: Format = None,
) -> None:
    """Print the words nearest to a word, by cosine.

    VECTORS is a directory that `feedline words train` wrote, or any file of
    vectors that feedline reads: word2vec, GloVe, fastText or NumPy, also
    compressed. The number beside each word is the cosine of the two vectors: 1
    is the same direction, 0 unrelated.

    A word that was not trained is an error, which names words like it; vectors
    with subwords (fastText) have an answer for any word.

    \b
    Examples:
      feedline words similar vectors king
      feedline words similar vectors paris rome --together
      feedline words similar glove.6B.100d.txt king -n 5 --restrict 50000
    """
    found = load(Path(vectors), format_name)
    if together:
        near = found.analogy(words, (), number, restrict)
        print_neighbours(near, " + ".join(words))
        return
    for at, word in enumerate(words):
        near = found.similar(word, number, restrict)
        if at:
            typer.echo()
        print_neighbours(near, word if len(words) > 1 else None)
