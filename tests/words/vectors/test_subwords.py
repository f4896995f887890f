"""Subwords: fastText's n-grams and hashes, one word at a time and compiled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.words.peers import fasttext_model

from feedline.errors import VectorsError
from feedline.words.vectors.subwords import Subwords, hashed, ngrams, table

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def test_the_ngrams_of_where():
    assert list(ngrams("where", 3, 3)) == [b"<wh", b"whe", b"her", b"ere", b"re>"]


def test_the_order_is_by_place_and_then_by_length():
    assert list(ngrams("ab", 1, 3)) == [
        *(b"<a", b"<ab"),
        *(b"a", b"ab", b"ab>"),
        *(b"b", b"b>"),
    ]


def test_the_end_of_a_sentence_has_none():
    assert list(ngrams("</s>", 3, 6)) == []


def test_characters_are_not_cut():
    assert list(ngrams("é漢", 2, 2)) == ["<é".encode(), "é漢".encode(), "漢>".encode()]


def test_the_hash_is_fnv_with_signed_bytes():
    assert hashed(b"") == 2166136261
    assert hashed(b"a") == 0xE40C292C  # FNV-1a as everywhere, below 0x80
    assert hashed("é".encode()) != 0x4FB6AAA6  # and fastText's own above it
    assert hashed("é".encode()) == _signed("é".encode())


def _signed(data: bytes) -> int:
    """The same with C's types spelt out."""
    value = np.uint32(2166136261)
    with np.errstate(over="ignore"):
        for byte in np.frombuffer(data, np.int8):
            value = np.uint32(value ^ np.int64(byte).astype(np.uint32))
            value = np.uint32(value * np.uint32(16777619))
    return int(value)


@settings(deadline=None)
@given(st.binary(max_size=9))
def test_the_hash_of_any_bytes(data):
    assert hashed(data) == _signed(data)


@settings(deadline=None)
@given(st.lists(WORDS, max_size=6), st.integers(1, 4), st.integers(0, 4))
def test_the_compiled_table_is_the_plain_one(words, min_n, more):
    offsets, ids = table(words, min_n, min_n + more, 1000)
    assert offsets[0] == 0
    assert len(offsets) == len(words) + 1
    for i, word in enumerate(words):
        plain = [hashed(n) % 1000 for n in ngrams(word, min_n, min_n + more)]
        assert ids[offsets[i] : offsets[i + 1]].tolist() == plain


def test_an_unknown_word_is_the_mean_of_its_ngrams():
    matrix = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    grams = Subwords(matrix, 3, 4)
    rows = matrix[grams.ids("unseen")]
    np.testing.assert_allclose(grams.vector("unseen"), rows.mean(axis=0), rtol=1e-5)


def test_a_word_too_short_for_any_ngram_is_zero():
    grams = Subwords(np.ones((5, 3), np.float32), 4, 6)
    assert grams.vector("a").tolist() == [0, 0, 0]


@pytest.mark.parametrize("cut", [(0, 3), (4, 3), (-1, 2)])
def test_impossible_lengths_are_refused(cut):
    with pytest.raises(VectorsError, match="n-grams of"):
        Subwords(np.ones((5, 3), np.float32), *cut)
    with pytest.raises(VectorsError, match="n-grams of"):
        table(["a"], *cut, 10)


def test_fasttext_itself_agrees(tmp_path):
    model = fasttext_model(tmp_path, bucket=500, minn=2, maxn=4)
    known = len(model.get_words())
    for word in ("größe", "漢字", "unseen", "ß"):
        _, ids = model.get_subwords(word)
        own = [i - known for i in ids if i >= known]
        assert own == Subwords(np.ones((500, 3), np.float32), 2, 4).ids(word)
