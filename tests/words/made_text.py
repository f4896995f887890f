"""Texts for the tests of the corpus, and the plain way to read them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import strategies as st

from feedline.words.text.corpus import Corpus, prepare
from feedline.words.text.shards import END, Shards
from feedline.words.text.vocabulary import Vocabulary

# More than is looked at to tell text from binary files, so that anything may follow.
BEGINNING = b"fine words\n" * 800

_PIECES = st.one_of(
    st.sampled_from([b" ", b"\n", b"\t", b"\r\n", b"\x0b", b"\x0c", b"  ", b" \n "]),
    st.sampled_from(["a", "B", "the", "exactly8", "ninechars", "Ünïcödé"]).map(
        str.encode
    ),
    st.sampled_from(
        ["ΣΑΣ", "İI", "ẞß", "\xa0", "\u2028", "\ufffd", "\x1c", "漢字"]
    ).map(str.encode),
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")),
    st.sampled_from([b"\xff", b"\xe2\x82", b"\xc0\x80", b"\xed\xa0\x80", b"\xf0\x9f"]),
    st.binary(max_size=12),
    st.integers(1, 2500).map(lambda size: b"x" * size),
)
TEXTS = st.lists(_PIECES, max_size=60).map(b"".join)


def sentences_of(data: bytes, *, lower: bool = False) -> list[list[str]]:
    """The words of each line, the slow way."""
    sentences = []
    for line in data.split(b"\n"):
        words = [w.decode("utf-8", "replace") for w in line.split() if len(w) <= 1024]
        words = [w.lower() if lower else w for w in words]
        sentences.append([w for w in words if len(w.encode()) <= 1024])
    return sentences


def decode(vocabulary: Vocabulary, shards: Shards) -> list[list[str]]:
    """The sentences in the shards."""
    sentences: list[list[str]] = [[]]
    for array in shards.arrays:
        for number in array.tolist():
            if number == END:
                sentences.append([])
            else:
                sentences[-1].append(vocabulary.words[number])
    assert sentences.pop() == [], "the last sentence is not closed"
    return sentences


def words_of(path: object, tmp_path: Path, **options) -> list[list[str]]:
    """The sentences that end up in the shards."""
    settings = {k: options.pop(k) for k in ("phrases", "vocabulary") if k in options}
    corpus = Corpus.of(path, **options)
    return decode(*prepare(corpus, tmp_path / "cache", min_count=1, **settings))


@contextmanager
def new_place(factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory for one example of a property; pytest's own are for one test."""
    with tempfile.TemporaryDirectory(dir=factory.getbasetemp()) as place:
        yield Path(place)


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
