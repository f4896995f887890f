"""Vocabularies as text: what is saved is read back, and what is wrong is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedline.errors import CorpusError
from feedline.words.text.vocabulary import WHITESPACE, Vocabulary, ranked

WORDS = st.text(
    st.characters(
        exclude_categories=("Cs",), exclude_characters=WHITESPACE.decode() + "\0"
    ),
    min_size=1,
    max_size=12,
)


def made(counts: dict[str, int], raw: int = 0) -> Vocabulary:
    return Vocabulary(tuple(counts), np.array([*counts.values()], np.int64), raw)


@given(
    st.dictionaries(WORDS, st.integers(0, 10**12), min_size=1),
    st.integers(0, 10**15),
)
def test_what_is_saved_is_read_back(counts, raw):
    vocabulary = made(counts, raw)
    assert Vocabulary.parse(vocabulary.as_bytes(), "v.txt") == vocabulary


def test_it_is_plain_text(tmp_path):
    made({"the": 3, "#": 2, "naïve": 1}, 9).save(tmp_path / "v.txt")
    text = (tmp_path / "v.txt").read_text(encoding="utf-8")
    assert text == "the 3\n# 2\nnaïve 1\n# raw_tokens 9\n"
    assert Vocabulary.load(tmp_path / "v.txt").words == ("the", "#", "naïve")
    assert [entry.name for entry in tmp_path.iterdir()] == ["v.txt"]


def test_lines_of_word_and_count_are_enough(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"\xef\xbb\xbfthe\t30\r\n\nof 20\n")
    vocabulary = Vocabulary.load(tmp_path / "v.txt")
    assert vocabulary == made({"the": 30, "of": 20}, 50)
    assert vocabulary.tokens == 50
    assert len(vocabulary) == 2
    assert vocabulary.index == {"the": 0, "of": 1}
    assert "of" in vocabulary
    assert "or" not in vocabulary


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "no words in it"),
        (b"the 3\nof\n", "line 2: 'of' is not `word count`"),
        (b"the 3 4\n", "line 1: 'the 3 4' is not"),
        (b"the many\n", "line 1: the count is 'many'"),
        (b"the -3\n", "line 1: the count is '-3'"),
        (b"the 1\nof 1\nthe 2\n", "line 3: 'the' stands on line 1 already"),
        (b"\xff 1\n", "line 1: the word is not UTF-8"),
        (b"the " + b"9" * 40 + b"\n", "line 1: the count is '999"),
        (b"".join(b"w%d %s\n" % (i, b"9" * 18) for i in range(10)), "beyond 64 bits"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    (tmp_path / "v.txt").write_bytes(text)
    with pytest.raises(CorpusError) as caught:
        Vocabulary.load(tmp_path / "v.txt")
    assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CorpusError, match=r"nowhere\.txt cannot be read"):
        Vocabulary.load(tmp_path / "nowhere.txt")


def test_saving_where_one_cannot_leaves_nothing(tmp_path):
    with pytest.raises(CorpusError, match="cannot write"):
        made({"a": 1}).save(tmp_path / "no" / "v.txt")
    (tmp_path / "dir").mkdir()
    with pytest.raises(CorpusError, match="cannot write"):
        made({"a": 1}).save(tmp_path / "dir")
    assert [entry.name for entry in tmp_path.iterdir()] == ["dir"]


def test_frequent_words_come_first_and_ties_go_by_bytes():
    words = ["z", "é", "a", "b"]
    order = ranked([w.encode() for w in words], np.array([1, 5, 1, 5]))
    assert [words[i] for i in order] == ["b", "é", "a", "z"]
    assert ranked([b"a", b"b"], np.array([1, 2]), limit=1) == [1]
