"""Words that look like one that was not found, for the error that says so."""

from __future__ import annotations

import difflib
from collections.abc import Container, Sequence

# The most frequent words are the likely ones, and a misspelling must not cost
# seconds in a vocabulary of millions.
_LOOKED_AT = 100_000
_COMPARED = 4_000


def close_words(
    word: str, words: Sequence[str], known: Container[str], n: int = 3
) -> list[str]:
    """Up to `n` words that differ from `word` by case or by a few letters."""
    if not word:
        return []
    variants = [word.lower(), word.capitalize(), word.upper(), word.replace(" ", "_")]
    near = [v for v in dict.fromkeys(variants) if v != word and v in known]
    folded = word.casefold()
    likely = [
        other
        for other in words[:_LOOKED_AT]
        if abs(len(other) - len(word)) <= 2
        and other
        and (other[0].casefold() == folded[0] or other[-1].casefold() == folded[-1])
    ]
    near += difflib.get_close_matches(word, likely[:_COMPARED], n=n, cutoff=0.75)
    return list(dict.fromkeys(near))[:n]
