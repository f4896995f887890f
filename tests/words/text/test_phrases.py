"""Phrases, against Mikolov's formula worked by hand and in plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.words.made_text import decode, new_place

from feedline.errors import CorpusError
from feedline.words.text.corpus import Corpus, prepare
from feedline.words.text.phrases import PairCounts, Phrases

WORDS = ["a", "b", "c", "d", "a_b", "b_c"]


def joined(sentences, cache, **options):
    return decode(
        *prepare(Corpus.of(sentences), cache, min_count=1, phrases=Phrases(**options))
    )


def by_hand(sentences, passes, threshold, delta):
    """word2phrase in plain Python."""
    for number in range(passes):
        counts = Counter(word for words in sentences for word in words)
        pairs = Counter(pair for words in sentences for pair in pairwise(words))
        total = sum(counts.values())
        limit = threshold * 2 ** (passes - 1 - number)
        phrases = {
            (a, b)
            for (a, b), together in pairs.items()
            if counts[a] >= delta
            and counts[b] >= delta
            and (together - delta) / (counts[a] * counts[b]) * total > limit
        }
        sentences = [one_pass(words, phrases) for words in sentences]
    return sentences


def one_pass(words, phrases):
    out = []
    last = None  # the word before, unless it is part of a phrase already
    for word in words:
        if (last, word) in phrases:
            out[-1] = f"{last}_{word}"
            last = None
        else:
            out.append(word)
            last = word
    return out


def test_the_score_by_hand(tmp_path):
    # "new" 11 times, "york" 10, together 10, 22 tokens: (10 - 5) / (11 * 10) * 22 = 1.
    sentences = [["new", "york"]] * 10 + [["new", "car"]]
    assert joined(sentences, tmp_path, threshold=1.01, delta=5) == sentences
    assert joined(sentences, tmp_path, threshold=0.99, delta=5) == [
        *[["new_york"]] * 10,
        ["new", "car"],
    ]


@settings(max_examples=50, deadline=None)
@given(
    sentences=st.lists(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=12),
        min_size=1,
        max_size=25,
    ),
    passes=st.integers(1, 3),
    threshold=st.sampled_from([0.1, 0.5, 1.0, 1.7, 3.1]),
    delta=st.integers(0, 3),
)
def test_it_is_word2phrase(tmp_path_factory, sentences, passes, threshold, delta):
    options = {"passes": passes, "threshold": threshold, "delta": delta}
    with new_place(tmp_path_factory) as place:
        found = joined(sentences, place, **options)
    assert found == by_hand(sentences, **options)


def test_passes_make_longer_phrases_and_the_counts_follow(tmp_path):
    sentences = [["new", "york", "times"]] * 20 + [["the", "end"]] * 400
    corpus = Corpus.of(sentences)
    vocabulary, shards = prepare(
        corpus, tmp_path, min_count=1, phrases=Phrases(2, threshold=5.0)
    )
    assert vocabulary.words == ("end", "the", "new_york_times")
    assert vocabulary.counts.tolist() == [400, 400, 20]
    assert vocabulary.raw_tokens == 860
    assert shards.tokens == 820


def test_phrases_stay_in_their_sentence_and_their_words_next_to_each_other(tmp_path):
    # "a" ends lines and "b" begins them; between "c" and "d" is what is no word.
    sentences = [["x", "a"], ["b", "y"], ["c", "z" * 2000, "d"]] * 50
    words = {w for s in joined(sentences, tmp_path, threshold=1e-9) for w in s}
    assert words == {"x_a", "b_y", "c", "d"}


def test_pairs_are_bounded():
    pairs = PairCounts(bound=5000)
    counts = np.full(200_000, 9, np.int64)
    rng = np.random.default_rng(0)
    for _ in range(20):
        noise = rng.integers(2, 200_000, 20_000).astype(np.int32)
        noise[::10] = 0
        noise[1::10] = 1
        pairs.add(noise, counts, 1)
    assert len(pairs.keys) <= 2**15
    assert pairs.counts[pairs.keys == 1].tolist() == [40_000]


def test_wrong_settings_are_refused():
    for wrong in ({"passes": -1}, {"threshold": 0.0}, {"delta": -1}):
        with pytest.raises(CorpusError, match="give"):
            Phrases(**wrong)
