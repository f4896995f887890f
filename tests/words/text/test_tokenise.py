"""Words by a pattern, by a callable, or from Python: what counts as a word."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.words.made_text import (
    BEGINNING,
    TEXTS,
    decode,
    new_place,
    sentences_of,
    words_of,
    write,
)

from feedline.errors import CorpusError
from feedline.words.text.corpus import Corpus, prepare
from feedline.words.text.runs import keeps_to_words

# The pattern SLOW and those after it see more than a run of text.
SLOW = r"(?<=\S)\w+"
PATTERNS = [
    r"\w+",
    r"\b\w\w+\b",
    r"[a-zA-Z]+",
    r"[^\W\d_]+",
    r"\w+(?:['’-]\w+)*",
    r"(\w)\w{1,3}|\d*",
    r"[^\s.]{2,}?x?",
    SLOW,
    r"\w+(?=\s|$)",
    r"^\w+",
    r"\S+",
    r"\w+$",
]


def test_lowering_is_unicode_s(tmp_path):
    path = write(tmp_path / "c.txt", "The ΟΔΟΣ ÉCOLE Straße THE École\n")
    assert words_of(path, tmp_path, lower=True) == [
        ["the", "οδος", "école", "straße", "the", "école"]
    ]


def test_a_pattern_finds_the_words(tmp_path):
    path = write(tmp_path / "c.txt", "Don't panic—it's naïve!\r\n\n42 漢字\n")
    assert words_of(path, tmp_path, pattern=r"\w+", lower=True) == [
        ["don", "t", "panic", "it", "s", "naïve"],
        ["42", "漢字"],
    ]
    assert words_of(path, tmp_path, pattern=r"(\w)\w*'\w") == [["Don't", "it's"]]


@settings(max_examples=50, deadline=None)
@given(
    text=st.one_of(TEXTS, st.text(max_size=300).map(str.encode)),
    pattern=st.sampled_from(PATTERNS),
    lower=st.booleans(),
)
def test_a_pattern_is_what_finditer_says(tmp_path_factory, text, pattern, lower):
    decoded = (BEGINNING + text).decode("utf-8", "replace")
    decoded = decoded.lower() if lower else decoded
    expected = [
        [match.group() for match in re.finditer(pattern, line.removesuffix("\r"))]
        for line in decoded.split("\n")
    ]
    expected = [[w for w in words if 0 < len(w.encode()) <= 1024] for words in expected]
    with new_place(tmp_path_factory) as place:
        path = write(place / "c.txt", BEGINNING + text)
        corpus = Corpus.of(path, pattern=pattern, lower=lower)
        vocabulary, shards = prepare(corpus, place / "cache", min_count=1)
    assert decode(vocabulary, shards) == [words for words in expected if words]
    assert vocabulary.tokens == shards.tokens


def test_patterns_that_may_look_at_whitespace_are_known():
    quick = [pattern for pattern in PATTERNS if keeps_to_words(pattern)]
    assert quick == PATTERNS[: PATTERNS.index(SLOW)]


def test_a_callable_finds_the_words(tmp_path):
    path = write(tmp_path / "c.txt", "a-b,c\r\nD\n")
    seen = []

    def split(line):
        seen.append(line)
        return iter(line.replace("-", ",").split(","))

    assert words_of(path, tmp_path, tokenize=split, lower=True) == [
        ["a", "b", "c"],
        ["d"],
    ]
    assert seen == ["a-b,c", "d"]


@settings(max_examples=25, deadline=None)
@given(text=TEXTS)
def test_splitting_by_a_callable_is_the_same(tmp_path_factory, text):
    sentences = [words for words in sentences_of(BEGINNING + text) if words]
    whitespace = " \t\n\r\x0b\x0c"

    def split(line):
        return line.translate(dict.fromkeys(map(ord, whitespace), " ")).split(" ")

    with new_place(tmp_path_factory) as place:
        path = write(place / "c.txt", BEGINNING + text)
        assert words_of(path, place, tokenize=split) == sentences


@pytest.mark.parametrize(
    ("tokenize", "message"),
    [
        (lambda line: [line], "gave the word 'new york'.*'new_york'"),
        (lambda line: line, "gave 'new york', a str"),
        (lambda line: [1], "gave 1, a int, as a word"),
        (lambda line: None, "gave None, a NoneType"),
    ],
)
def test_what_a_callable_gives_is_checked(tmp_path, tokenize, message):
    path = write(tmp_path / "c.txt", "new york")
    with pytest.raises(CorpusError, match=message):
        prepare(Corpus.of(path, tokenize=tokenize), tmp_path / "cache")


def test_an_error_of_the_callable_s_own_is_shown_as_it_is(tmp_path):
    path = write(tmp_path / "c.txt", "a")
    with pytest.raises(ZeroDivisionError):
        prepare(Corpus.of(path, tokenize=lambda line: 1 / 0), tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("tokens*/"))


def test_text_without_spaces_is_cut_for_a_pattern_between_characters(tmp_path):
    path = write(tmp_path / "c.txt", "漢字" * 400_000)
    [first, *others] = words_of(path, tmp_path, pattern=r"\w")
    assert len(first) == 10_000
    assert set(first) == {"漢", "字"}
    assert len(first) + sum(map(len, others)) == 800_000


def test_lists_of_words_are_a_corpus(tmp_path):
    sentences = [["The", "cat"], [], ["a", "", "dog\u2028s"]]
    expected = [["the", "cat"], ["a", "dog\u2028s"]]
    assert words_of(sentences, tmp_path, lower=True) == expected
    assert words_of(iter(sentences), tmp_path, lower=True) == expected
    assert words_of((tuple(s) for s in sentences), tmp_path, lower=True) == expected
    assert words_of([[chr(0xDC80)]], tmp_path) == [["\ufffd" * 3]]


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([], "nothing in what was given"),
        (iter(()), "nothing in what was given"),
        ([[], []], "no sentence with a word"),
        ([["a"], "b c"], "sentence 2 gave 'b c', a str"),
        ([["a", 5]], "sentence 1 gave 5, a int"),
        ([["new york"]], "'new york', with whitespace"),
        ([["a"], None], "sentence 2 gave None"),
        (["no such sentence"], "there is no file 'no such sentence'"),
        (5, "5 is a int, not a corpus"),
        (b"a.txt", "a bytes, not a corpus"),
        (["a.txt", 5], "5 is a int"),
    ],
)
def test_other_things_are_no_corpus(tmp_path, sources, message, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.txt", "a")
    with pytest.raises(CorpusError, match=message):
        prepare(Corpus.of(sources), tmp_path / "cache", min_count=1)
