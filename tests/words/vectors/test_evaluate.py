"""Analogies and word pairs: gensim's numbers for the same vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from gensim.test.utils import datapath
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.errors import FeedlineError
from feedline.words.vectors import correlation
from feedline.words.vectors.evaluation import compare_pairs, evaluate, solve_analogies
from feedline.words.vectors.vectors import Vectors

QUESTIONS = "questions-words.txt"
PAIRS = ("wordsim353.tsv", "simlex999.txt")


@pytest.fixture(scope="module")
def questions(tmp_path_factory) -> str:
    """Every twentieth of gensim's questions: the same sections, less time."""
    kept = []
    with open(datapath(QUESTIONS), encoding="utf-8") as file:
        for number, line in enumerate(file):
            if line.startswith(":") or number % 20 == 0:
                kept.append(line)
    path = tmp_path_factory.mktemp("questions") / QUESTIONS
    path.write_text("".join([*kept, "only three words\n"]), "utf-8")
    return str(path)


@pytest.fixture(scope="module")
def vectors(questions) -> Vectors:
    """Words of the tests in several spellings, with some of the answers planted."""
    words = []
    with open(questions, encoding="utf-8") as file:
        rows = [line.split() for line in file if not line.startswith(":")]
    rows = [row for row in rows if len(row) == 4]
    for row in rows:
        words += row
    for name in PAIRS:
        with open(datapath(name), encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    words += line.split("\t")[:2]
    words = sorted(set(words) - {"tiger", "old"})
    spellings = [word.lower() for word in words] + [w.upper() for w in words[:400]]
    words = list(dict.fromkeys([*words, *spellings]))
    rng = np.random.default_rng(0)
    rng.shuffle(words)
    matrix = rng.normal(size=(len(words), 12)).astype(np.float32)
    index = {word: i for i, word in enumerate(words)}
    for a, b, c, d in rows[::3]:
        if not {a, b, c, d} <= index.keys():
            continue
        wanted = matrix[index[b]] - matrix[index[a]] + matrix[index[c]]
        matrix[index[d]] = wanted + rng.normal(size=12) * 0.3
    for word in words[::3]:  # near another spelling of a question's word
        matrix[index.get(word.lower(), 0)] = matrix[index[word]] * 2 + 0.01
    return Vectors(tuple(words), matrix)


OPTIONS = [
    {},
    {"restrict": 800},
    {"case_insensitive": False},
    {"dummy4unknown": True, "restrict": 800},
]


def gensims(options: dict) -> dict:
    renamed = dict(options)
    if "restrict" in renamed:
        renamed["restrict_vocab"] = renamed.pop("restrict")
    return renamed


@pytest.mark.parametrize("options", OPTIONS)
def test_analogies_are_scored_as_gensim_scores_them(vectors, questions, options):
    kv = vectors.to_gensim()
    score, sections = kv.evaluate_word_analogies(questions, **gensims(options))
    result = solve_analogies(vectors, questions, **options)
    assert 0 < score < 1
    assert result.accuracy == pytest.approx(score, abs=1e-6)
    assert [(s.name, s.correct, s.questions) for s in result.sections] == [
        (
            s["section"],
            len(s["correct"]),
            len(s["correct"]) + len(s["incorrect"]),
        )
        for s in sections[:-1]
    ]
    assert result.skipped == 1


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_are_scored_as_gensim_scores_them(vectors, name, options):
    kv = vectors.to_gensim()
    pearson, spearman, oov = kv.evaluate_word_pairs(datapath(name), **gensims(options))
    result = compare_pairs(vectors, datapath(name), **options)
    assert result.spearman == pytest.approx(spearman[0], abs=1e-6)
    assert result.pearson == pytest.approx(pearson[0], abs=1e-6)
    assert result.p_value == pytest.approx(spearman[1], abs=1e-6)
    seen = result.pairs + (0 if "dummy4unknown" in options else result.unknown)
    assert 100 * result.unknown / seen == pytest.approx(oov)
    assert result.unknown > 0


@pytest.mark.slow
def test_all_of_gensims_questions(vectors):
    score, _ = vectors.to_gensim().evaluate_word_analogies(datapath(QUESTIONS))
    assert solve_analogies(vectors, datapath(QUESTIONS)).accuracy == pytest.approx(
        score, abs=1e-6
    )


def test_blocks_do_not_change_the_score(vectors, questions, monkeypatch):
    whole = solve_analogies(vectors, questions)
    monkeypatch.setattr("feedline.words.vectors.evaluation._SCORES", 10_000)
    assert solve_analogies(vectors, questions) == whole


def test_totals_are_the_sums_of_the_sections(vectors, questions):
    result = evaluate(vectors, questions, datapath(PAIRS[0]))
    assert vectors.evaluate(questions, [datapath(PAIRS[0])]) == result
    found = result.analogies
    assert found.total.questions == sum(s.questions for s in found.sections)
    assert found.semantic.correct + found.syntactic.correct == found.total.correct
    assert found.syntactic.questions > 0
    assert found.semantic.questions > 0
    assert len(result.pairs) == 1
    assert evaluate(vectors).analogies is None


def test_more_spellings_than_guesses(tmp_path):
    """The five best may all be question words in other spellings: not solved."""
    words = ("a", "b", "c", "d", "A", "B", "C")
    matrix = np.eye(4)[[0, 1, 2, 3, 0, 1, 2]] + 0.01
    (tmp_path / "q").write_bytes(b": s\na b c d\n")
    vectors = Vectors(words, matrix)
    score, _ = vectors.to_gensim().evaluate_word_analogies(str(tmp_path / "q"))
    assert solve_analogies(vectors, tmp_path / "q").accuracy == score


def test_pairs_between_spaces_or_commas_are_read_too(tmp_path):
    vectors = Vectors(("a", "b", "c"), np.array([[1, 0], [1, 1], [0, 1]]))
    for separator in ("\t", " ", ",", ";"):
        rows = [("a", "b", "5"), ("a", "c", "1"), ("b", "c", "4")]
        (tmp_path / "p").write_text("\n".join(map(separator.join, rows)), "utf-8")
        assert compare_pairs(vectors, tmp_path / "p").pairs == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c d\n", "line 1 is before the first section"),
        ("", "it has no line such as ': capitals'"),
        (b"\xff\xff", "byte 0 is not UTF-8"),
    ],
)
def test_a_bad_file_of_analogies_is_told(vectors, tmp_path, text, message):
    data = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "q").write_bytes(data)
    with pytest.raises(FeedlineError, match=message):
        solve_analogies(vectors, tmp_path / "q")
    with pytest.raises(FeedlineError, match="No such file"):
        solve_analogies(vectors, tmp_path / "nowhere")


def test_a_file_without_known_pairs_is_told(vectors, tmp_path):
    (tmp_path / "p").write_bytes(b"zzz\tyyy\t3\nnonsense\n")
    with pytest.raises(FeedlineError, match="0 of its pairs are in the vocabulary"):
        compare_pairs(vectors, tmp_path / "p")


def test_no_question_can_be_asked(tmp_path):
    (tmp_path / "q").write_bytes(b": s\na b c d\n")
    found = solve_analogies(Vectors(("x",), np.ones((1, 2))), tmp_path / "q")
    assert found.accuracy == 0
    assert found.total.unknown == 1


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3))
def test_correlations_are_scipys(values):
    from scipy import stats

    first, second = np.array(values, np.float64).T
    constant = len(set(first)) == 1 or len(set(second)) == 1
    if constant:
        assert math.isnan(correlation.spearman(first, second))
        return
    wanted = stats.spearmanr(first, second)
    found = correlation.spearman(first, second)
    assert found == pytest.approx(wanted.statistic, abs=1e-9)
    if len(first) > 3 and abs(found) < 0.999999:
        p = correlation.p_value(found, len(first))
        assert p == pytest.approx(wanted.pvalue, abs=1e-6)
