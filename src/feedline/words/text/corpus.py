"""Text to train on: named, counted, encoded and kept for the next run.

`Corpus` says what the text is and how it is cut into words. `prepare` reads it
once and leaves `tokens/` in a directory of the caller's: the vocabulary and the
shards (shards.py). Where that is there already, made from the same files with
the same options and undamaged, nothing is read again.

What counts as what:

- A word is a run of bytes without ASCII whitespace (space, tab, line feed,
  vertical tab, form feed, carriage return), 1,024 bytes long at most.
- A line is a sentence. Only a line feed ends one, and the end of a file.
- Invalid UTF-8 becomes U+FFFD, is counted, and reported by a warning.
- `lower` is `str.lower()`, the whole of Unicode.
- With `pattern` the words are its matches in each line; with `tokenize` they are
  what the callable returns for each line. Both see decoded, lowered text.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from feedline.errors import CorpusError
from feedline.words.text.blocks import Blocks, FileBlocks, SentenceBlocks
from feedline.words.text.building import NAME, Building
from feedline.words.text.counting import Counted, Progress, count
from feedline.words.text.encode import Maps, encode
from feedline.words.text.phrases import Phrases, join_phrases
from feedline.words.text.readers import TextFile, find_files
from feedline.words.text.recipe import Recipe
from feedline.words.text.runs import RunScanner, keeps_to_words
from feedline.words.text.scan import Scanner, Scans
from feedline.words.text.shards import VOCABULARY, Shards, ShardWriter, read_manifest
from feedline.words.text.spool import Spool
from feedline.words.text.table import LONGEST
from feedline.words.text.tokenise import (
    LineScanner,
    LineTokeniser,
    Tokenizer,
    compiled,
    line_of,
)
from feedline.words.text.vocabulary import Vocabulary

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Corpus:
    """Text, and how it is cut into words."""

    files: tuple[TextFile, ...] = ()
    sentences: Iterable[Iterable[str]] | None = None
    """Given instead of files: sentences that are split already."""
    lower: bool = False
    pattern: str | None = None
    tokenize: Tokenizer | None = None

    @classmethod
    def of(
        cls,
        sources: Any,
        *,
        lower: bool = False,
        pattern: str | None = None,
        tokenize: Callable[[str], Iterable[str]] | None = None,
    ) -> Corpus:
        """A file, glob, directory or "-"; several of these; or lists of words."""
        if isinstance(sources, Corpus):
            return sources
        if pattern is not None and tokenize is not None:
            raise CorpusError(
                f"both a pattern ({pattern!r}) and a tokenizer were given. Give one."
            )
        if pattern is not None:
            compiled(pattern)
        if isinstance(sources, str | Path):
            files = find_files([sources])
        else:
            if isinstance(sources, bytes) or not isinstance(sources, Iterable):
                raise CorpusError(
                    f"{sources!r} is a {type(sources).__name__}, not a corpus. Give a "
                    "file name, several, or lists of words."
                )
            first, everything = _peeked(sources)
            if not isinstance(first, str | Path):
                if pattern is not None or tokenize is not None:
                    raise CorpusError(
                        "a pattern or a tokenizer was given for lists of words, which "
                        "are split already. Leave it out, or give files."
                    )
                return cls((), everything, lower)
            files = find_files(everything)
        return cls(files, None, lower, pattern, tokenize)

    def fingerprint(self) -> dict[str, Any] | None:
        """What makes it the same text next time; None where nothing can tell."""
        if self.sentences is not None or self.tokenize is not None:
            return None
        if not all(file.regular for file in self.files):
            return None
        files = [[str(Path(f.path).absolute()), f.size, f.mtime_ns] for f in self.files]
        return {"files": files, "lower": self.lower, "pattern": self.pattern}

    def blocks(self) -> Blocks:
        """The text, to be read once."""
        if self.sentences is None:
            whole = self.pattern is not None or self.tokenize is not None
            return FileBlocks(self.files, whole=whole)
        lower = self.lower
        return SentenceBlocks(
            self.sentences, lambda words, number: line_of(words, number, lower=lower)
        )

    def count(
        self,
        *,
        bound: int | None = None,
        spool: Spool | None = None,
        progress: Progress | None = None,
        blocks: Blocks | None = None,
        threads: int | None = None,
    ) -> Counted:
        """Count all its words, or those of other text that is cut in the same way."""
        plain = self.pattern is None and self.tokenize is None
        # Python's own code runs in one thread: the caller's, which it may rely on.
        alone = self.tokenize is not None or self.sentences is not None
        return count(
            self.blocks() if blocks is None else blocks,
            lower=self.lower and plain,
            scanner=Scanner if plain else self._scanner,
            threads=1 if alone else threads,
            bound=bound,
            spool=spool,
            progress=progress,
        )

    def _scanner(self, block: int) -> Scans:
        tokeniser = LineTokeniser(
            lower=self.lower, pattern=self.pattern, tokenize=self.tokenize
        )
        if self.pattern is not None and keeps_to_words(self.pattern):
            return RunScanner(block, tokeniser)
        return LineScanner(block, tokeniser)


def prepare(
    corpus: Corpus,
    cache_dir: Path,
    *,
    min_count: int = 5,
    max_vocab: int | None = None,
    phrases: int | Phrases = 0,
    vocabulary: Vocabulary | None = None,
    progress: Progress | None = None,
) -> tuple[Vocabulary, Shards]:
    """Count and encode a corpus, or take what an earlier run left in `cache_dir`.

    Words seen fewer than `min_count` times are left out. `max_vocab` keeps the
    most frequent that many, and bounds memory while counting: see counting.py.
    `phrases` is a number of passes. With a `vocabulary` its words and counts are
    taken as they are, and min_count and max_vocab do not matter.

    `progress` is told the stage, what is done of it, and of how much.
    """
    recipe = Recipe(
        min_count,
        max_vocab,
        phrases if isinstance(phrases, Phrases) else Phrases(phrases),
        vocabulary,
    )
    cache_dir = Path(cache_dir)
    fingerprint = recipe.fingerprint(corpus.fingerprint())
    found = _same_as_before(cache_dir, fingerprint)
    if found is not None:
        return found
    with Building(cache_dir) as building:
        # Another process may have built it while this one waited for the lock.
        found = _same_as_before(cache_dir, fingerprint)
        if found is not None:
            return found
        built = _build(corpus, recipe, building.make(), progress)
        building.finish()
    return built, Shards.open(cache_dir / NAME)


def reopen(cache_dir: Path) -> tuple[Vocabulary, Shards]:
    """What `prepare` left, whatever it was made from; checked throughout."""
    shards = Shards.open(Path(cache_dir))
    path = shards.path / VOCABULARY
    try:
        text = path.read_bytes()
    except OSError as error:
        raise CorpusError(
            f"{path} cannot be read: {error.strerror}. Delete {shards.path} and encode "
            "the corpus again."
        ) from error
    if zlib.crc32(text) != read_manifest(shards.path).vocabulary_crc32:
        raise CorpusError(
            f"{path} is damaged: its checksum is wrong. Delete {shards.path} and "
            "encode the corpus again."
        )
    return Vocabulary.parse(text, str(path)), shards


def _same_as_before(
    cache_dir: Path, fingerprint: dict[str, Any] | None
) -> tuple[Vocabulary, Shards] | None:
    if fingerprint is None or not (cache_dir / NAME).exists():
        return None
    try:
        manifest = read_manifest(cache_dir / NAME)
        if manifest.facts.get("fingerprint") != fingerprint:
            _log.info("%s was made from other text or options", cache_dir / NAME)
            return None
        return reopen(cache_dir / NAME)
    except CorpusError as error:
        _log.warning("encoding again: %s", error)
        return None


def _build(
    corpus: Corpus, recipe: Recipe, directory: Path, progress: Progress | None
) -> Vocabulary:
    before = recipe.fingerprint(corpus.fingerprint())
    spool = Spool(directory, "text")
    writer = ShardWriter(directory)
    try:
        counted = corpus.count(bound=recipe.bound, spool=spool, progress=progress)
        _report(counted)
        _check_not_empty(corpus, counted)
        maps: Maps = counted.maps
        table = counted.table
        if recipe.phrases.passes:
            spool = join_phrases(spool, maps, table, recipe.phrases, progress)
            maps = [[np.arange(len(table), dtype=np.int32)]]
        vocabulary, ids_of = recipe.chosen(counted)
        total = spool.size
        tokens, sentences = encode(
            spool,
            maps,
            ids_of,
            writer,
            None if progress is None else lambda done: progress("encode", done, total),
        )
        if tokens == 0:
            raise CorpusError(
                f"none of the {len(vocabulary):,} words of the vocabulary is in the "
                f"corpus, which has {counted.tokens:,} tokens. Check that both are in "
                "the same language and case (`lower`)."
            )
        for path in directory.glob("era-*.npy"):
            path.unlink()
        unchanged = before is not None and _unchanged(corpus)
        facts = {
            "fingerprint": before if unchanged else None,
            "raw_tokens": counted.tokens,
            "distinct_words": len(table),
            "invalid_utf8": counted.invalid,
            "too_long": counted.long,
            "forgotten": counted.forgotten,
        }
        writer.finish(vocabulary.as_bytes(), tokens, sentences, facts)
        return vocabulary
    finally:
        spool.close()
        writer.close()


def _check_not_empty(corpus: Corpus, counted: Counted) -> None:
    if len(counted.table):
        return
    if corpus.sentences is not None:
        raise CorpusError(
            "the corpus is empty: no sentence with a word in it came. An iterator "
            "can be read once only; give a list, or a fresh iterator."
        )
    names = ", ".join(file.path for file in corpus.files[:3])
    more = f" and {len(corpus.files) - 3} more" if len(corpus.files) > 3 else ""
    if counted.long:
        raise CorpusError(
            f"{names}{more}: all {counted.tokens:,} runs of text without a space are "
            f"longer than {LONGEST:,} bytes, so none is a word. Give a pattern or a "
            "tokenizer that finds the words."
        )
    matched = (
        ""
        if corpus.pattern is None
        else f" that matches the pattern {corpus.pattern!r}"
    )
    raise CorpusError(
        f"the corpus is empty: there is no word{matched} in {names}{more}. Give text."
    )


def _report(counted: Counted) -> None:
    if counted.invalid:
        _log.warning(
            "%d invalid UTF-8 sequences were replaced by U+FFFD", counted.invalid
        )
    if counted.long:
        _log.warning(
            "%d runs of more than %d bytes without whitespace were left out",
            counted.long,
            LONGEST,
        )


def _unchanged(corpus: Corpus) -> bool:
    """Are the files as they were when the corpus was named?"""
    try:
        return find_files(file.path for file in corpus.files) == corpus.files
    except CorpusError:
        return False


def _peeked(sources: Iterable[Any]) -> tuple[Any, Iterable[Any]]:
    """The first item, and all of them; what can be read again stays so."""
    iterator = iter(sources)
    for first in iterator:
        again = iterator is not sources
        return first, sources if again else chain([first], iterator)
    raise CorpusError(
        "the corpus is empty: there is nothing in what was given. Give a file name, "
        "several, or lists of words."
    )
