"""How text is read: what a word is, and which words are kept.

Light: the command line reads it for `--help`, before NumPy is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass

from feedline.words.option import option

TEXT = "Text"


def lower() -> bool:
    """The option, of all that read text."""
    return option(False, "Lower the case.", TEXT)


def pattern() -> str | None:
    """The option, of all that read text."""
    return option(
        None,
        r"A regular expression; its matches are the words, as in '\w+'.",
        TEXT,
        kind=str,
        value="REGEX",
        unless="split at white space",
    )


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """See corpus.py and recipe.py, which also check them."""

    lower: bool = lower()
    pattern: str | None = pattern()
    min_count: int = option(5, "Leave out words seen less often.", TEXT)
    max_vocab: int | None = option(
        None, "Keep only the N most frequent words.", TEXT, kind=int, unless="all"
    )
    phrases: int = option(0, "Passes that join phrases, such as new_york.", TEXT)
