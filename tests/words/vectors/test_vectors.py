"""`Vectors`: look-up, search, and the directory they are saved in."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.errors import FeedlineError, OutputExists, UnknownWord, VectorsError
from feedline.words.vectors.subwords import Subwords
from feedline.words.vectors.vectors import Vectors

WORDS = ("king", "queen", "man", "woman", "apple", "größe", "new york")


def made(words=WORDS, dim=8, counts=True, seed=0) -> Vectors:
    matrix = np.random.default_rng(seed).normal(size=(len(words), dim))
    numbers = np.arange(len(words), 0, -1) if counts else None
    return Vectors(tuple(words), matrix.astype(np.float32), numbers)


@pytest.fixture
def royal() -> Vectors:
    """king - man + woman = queen, and a fruit."""
    male, female, rank, fruit = np.eye(4, dtype=np.float32)
    rows = [rank + male, rank + female, male, female, fruit]
    return Vectors(WORDS[:5], np.stack(rows))


# Look-up ----------------------------------------------------------------------


def test_a_word_has_its_row():
    vectors = made()
    assert "king" in vectors
    assert "kong" not in vectors
    assert len(vectors) == 7
    assert list(vectors) == list(WORDS)
    np.testing.assert_array_equal(vectors["queen"], vectors.matrix[1])
    rows = vectors.lookup(["man", "king", "man"])
    np.testing.assert_array_equal(rows, vectors.matrix[[2, 0, 2]])


def test_an_unknown_word_names_words_like_it():
    with pytest.raises(UnknownWord, match=r"no 'kingg'; did you mean king") as caught:
        made()["kingg"]
    assert isinstance(caught.value, KeyError)
    with pytest.raises(UnknownWord, match="did you mean king"):
        made().similar("King")
    with pytest.raises(UnknownWord, match=r"7 words has no ''$"):
        made()[""]


def test_suggestions_are_quick_in_a_large_vocabulary():
    words = tuple(f"word{i}" for i in range(200_000))
    vectors = Vectors(words, np.zeros((len(words), 1), np.float32))
    with pytest.raises(UnknownWord, match="did you mean word1"):
        vectors["wordd1"]


def test_subwords_give_a_vector_to_any_word():
    grams = Subwords(np.random.default_rng(1).normal(size=(99, 8)), 3, 6)
    known = made()
    vectors = Vectors(known.words, known.matrix, subwords=grams)
    np.testing.assert_array_equal(vectors["unseen"], grams.vector("unseen"))
    rows = vectors.lookup(["king", "unseen"])
    np.testing.assert_array_equal(rows[1], grams.vector("unseen"))
    assert "unseen" not in vectors
    assert len(vectors.similar("unseen", 3)) == 3


@pytest.mark.parametrize(
    ("words", "matrix", "message"),
    [
        (("a",), np.zeros((2, 3)), "1 words but 2 rows"),
        (("a",), np.zeros(3), "shape"),
        (("a",), np.zeros((1, 0)), "shape"),
    ],
)
def test_what_does_not_fit_together_is_refused(words, matrix, message):
    with pytest.raises(VectorsError, match=message):
        Vectors(words, matrix)


def test_a_repeated_word_is_refused():
    with pytest.raises(VectorsError, match="'a' is among the words twice"):
        Vectors(("a", "b", "a"), np.zeros((3, 2))).index  # noqa: B018


# Search -----------------------------------------------------------------------


def test_similar_is_by_cosine_without_the_word_itself():
    vectors = made()
    near = vectors.similar("king", 3)
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    scores = unit @ unit[0]
    order = [i for i in np.argsort(-scores) if i != 0][:3]
    assert [word for word, _ in near] == [WORDS[i] for i in order]
    np.testing.assert_allclose([s for _, s in near], scores[order], rtol=1e-5)


def test_a_vector_may_be_asked_for():
    vectors = made()
    assert vectors.similar(vectors["man"] * 3, 1)[0][0] == "man"
    with pytest.raises(VectorsError, match=r"shape \(3,\).*dimension 8"):
        vectors.similar(np.zeros(3))


def test_king_less_man_and_woman_is_queen(royal):
    assert royal.analogy(["king", "woman"], ["man"], 1)[0][0] == "queen"
    assert royal.analogy(["king", "woman"], "man")[0][0] == "queen"
    with pytest.raises(VectorsError, match="needs words"):
        royal.analogy([], [])


def test_what_does_not_match(royal):
    assert royal.doesnt_match(["king", "queen", "apple"]) == "apple"
    assert royal.doesnt_match("man king apple queen") == "apple"
    with pytest.raises(VectorsError, match="three or more"):
        royal.doesnt_match(["king"])


def test_distance_and_mean(royal):
    assert royal.distance("king", "king") == pytest.approx(0, abs=1e-6)
    assert royal.distance("man", "apple") == pytest.approx(1)
    assert royal.similarity("king", "man") == pytest.approx(2**-0.5)
    np.testing.assert_allclose(royal.mean(["man", "woman"]), [0.5, 0.5, 0, 0])
    with pytest.raises(VectorsError, match="at least one"):
        royal.mean([])


def test_restrict_looks_at_the_first_words_only():
    near = made().similar("apple", 10, restrict=3)
    assert {word for word, _ in near} == {"king", "queen", "man"}
    with pytest.raises(VectorsError, match="give 1 or more"):
        made().similar("apple", restrict=0)
    with pytest.raises(VectorsError, match="give 1 or more"):
        made().similar("apple", 0)


def test_a_row_of_zeros_is_like_nothing():
    vectors = Vectors(("a", "b", "c"), np.array([[1, 0], [0, 0], [-1, 0]]))
    assert vectors.similar("a", 2) == [("b", 0.0), ("c", -1.0)]
    assert [score for _, score in vectors.similar("b", 2)] == [0.0, 0.0]


def test_no_words_at_all():
    vectors = Vectors((), np.zeros((0, 4)))
    assert vectors.similar(np.ones(4)) == []


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 70), st.integers(1, 40))
def test_blocks_do_not_change_the_answer(rows, queries, n, scores):
    from feedline.words.vectors import search

    rng = np.random.default_rng(rows * 100 + queries)
    # Few values, so that there are ties between blocks too.
    matrix = rng.integers(-1, 2, size=(rows, 3)).astype(np.float32)
    asked = rng.integers(-1, 2, size=(queries, 3)).astype(np.float32)
    known = [[q % rows] for q in range(queries)]
    lengths = search.norms(matrix)
    whole = search.nearest(matrix, lengths, asked, n, known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_SCORES", scores)
        cut = search.nearest(matrix, lengths, asked, n, known)
    np.testing.assert_allclose(whole[1], cut[1], atol=1e-6)
    for q in range(queries):
        answers = whole[0][q][whole[0][q] >= 0]
        assert len(answers) == min(n, rows - 1)
        assert len(set(answers)) == len(answers)
        assert q % rows not in answers


# The approximate index --------------------------------------------------------


def test_an_index_finds_nearly_the_same():
    pytest.importorskip("usearch")
    words = tuple(f"w{i}" for i in range(2000))
    vectors = made(words, dim=16)
    index = vectors.build_index()
    hits = 0
    for word in words[:50]:
        exact = {w for w, _ in vectors.similar(word, 10)}
        near = vectors.similar(word, 10, index=index)
        assert word not in {w for w, _ in near}
        assert len(near) == 10
        hits += len(exact & {w for w, _ in near})
    assert hits >= 450
    with pytest.raises(VectorsError, match="cannot be restricted"):
        vectors.similar("w1", restrict=5, index=index)


def test_without_usearch_the_cure_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(VectorsError, match=r'pip install "feedline\[search\]"'):
        made().build_index()


# The directory ----------------------------------------------------------------


@pytest.mark.parametrize("counts", [True, False])
def test_a_saved_directory_comes_back(tmp_path, counts):
    known = made(counts=counts)
    grams = Subwords(np.random.default_rng(1).normal(size=(9, 8)).astype("f4"), 3, 6)
    vectors = Vectors(
        known.words, known.matrix, known.counts, {"epochs": np.int64(3)}, grams
    )
    vectors.save(tmp_path / "v")
    assert {path.name for path in tmp_path.iterdir()} == {"v"}
    assert {path.name for path in (tmp_path / "v").iterdir()} == {
        "vectors.json",
        "vectors.safetensors",
        "vocabulary.txt",
    }
    back = Vectors.load(tmp_path / "v")
    assert back.words == WORDS
    assert isinstance(back.matrix, np.memmap)
    np.testing.assert_array_equal(back.matrix, vectors.matrix)
    np.testing.assert_array_equal(back.subwords.matrix, grams.matrix)
    assert (back.subwords.min_n, back.subwords.max_n) == (3, 6)
    assert back.config == {"epochs": 3}
    if counts:
        np.testing.assert_array_equal(back.counts, vectors.counts)
    else:
        assert back.counts is None


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
            lambda word: "\n" not in word
        ),
        unique=True,
    ),
    st.booleans(),
)
def test_any_words_come_back_from_a_directory(tmp_path_factory, words, counts):
    vectors = made(words, counts=counts)
    path = vectors.save(tmp_path_factory.mktemp("any") / "v")
    back = Vectors.load(path)
    assert back.words == vectors.words
    np.testing.assert_array_equal(back.matrix, vectors.matrix)


def test_the_safetensors_file_is_one(tmp_path):
    from safetensors.numpy import load_file

    vectors = made()
    path = vectors.save(tmp_path / "v")
    found = load_file(path / "vectors.safetensors")
    np.testing.assert_array_equal(found["matrix"], vectors.matrix)


def test_the_vocabulary_is_one_that_training_reads(tmp_path):
    from feedline.words.text.vocabulary import Vocabulary

    vectors = made(WORDS[:6])
    path = vectors.save(tmp_path / "v")
    found = Vocabulary.load(path / "vocabulary.txt")
    assert found.words == vectors.words
    np.testing.assert_array_equal(found.counts, vectors.counts)


def test_all_files_have_the_same_permissions(tmp_path):
    path = made().save(tmp_path / "v")
    assert len({file.stat().st_mode for file in path.iterdir()}) == 1


def test_nothing_is_overwritten_unasked(tmp_path):
    made().save(tmp_path / "v")
    with pytest.raises(OutputExists, match="--force"):
        made().save(tmp_path / "v")
    other = made(seed=1)
    other.save(tmp_path / "v", force=True)
    np.testing.assert_array_equal(Vectors.load(tmp_path / "v").matrix, other.matrix)
    (tmp_path / "file").touch()
    with pytest.raises(OutputExists, match="is a file"):
        made().save(tmp_path / "file", force=True)
    with pytest.raises(VectorsError, match="there is no directory"):
        made().save(tmp_path / "no" / "v")


def test_other_files_in_the_directory_stay(tmp_path):
    (tmp_path / "metrics.jsonl").write_bytes(b"{}\n")
    made().save(tmp_path)
    made(seed=1).save(tmp_path, force=True)
    assert (tmp_path / "metrics.jsonl").read_bytes() == b"{}\n"
    assert len(list(tmp_path.iterdir())) == 4


def test_a_save_that_fails_leaves_nothing(tmp_path):
    bad = Vectors(("a\nb",), np.ones((1, 2)))
    with pytest.raises(VectorsError, match="line feed"):
        bad.save(tmp_path / "v")
    with pytest.raises(VectorsError, match="UTF-8 has no bytes"):
        Vectors(("\ud800",), np.ones((1, 2))).save(tmp_path / "v")
    assert list(tmp_path.iterdir()) == []


def test_vectors_saved_over_a_mapped_directory(tmp_path):
    """Loaded vectors stay what they were while their directory is replaced."""
    first = made()
    first.save(tmp_path / "v")
    mapped = Vectors.load(tmp_path / "v")
    made(seed=1).save(tmp_path / "v", force=True)
    np.testing.assert_array_equal(mapped.matrix, first.matrix)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("vectors.safetensors", lambda b: b[:-1], "cut short"),
        ("vectors.safetensors", lambda b: b[:-1] + b"\x99", "checksum differs"),
        ("vocabulary.txt", lambda b: b.replace(b"king", b"kong"), "checksum differs"),
        ("vectors.json", lambda b: b[:-4], "is not JSON"),
        ("vectors.json", lambda b: b'{"schema": 7}', "schema is 7"),
        ("vectors.json", lambda b: b"{}", 'no "schema"'),
        ("vectors.json", lambda b: b'{"schema": 1}', "is damaged"),
    ],
)
def test_a_damaged_directory_is_told(tmp_path, name, damage, message):
    path = made().save(tmp_path / "v")
    (path / name).write_bytes(damage((path / name).read_bytes()))
    with pytest.raises(VectorsError, match=message):
        Vectors.load(path)


def test_files_of_two_savings_are_told(tmp_path):
    one, two = made().save(tmp_path / "1"), made().save(tmp_path / "2")
    (one / "vectors.safetensors").write_bytes(
        (two / "vectors.safetensors").read_bytes()
    )
    about = json.loads((one / "vectors.json").read_bytes())
    about["files"] = json.loads((two / "vectors.json").read_bytes())["files"]
    (one / "vectors.json").write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(VectorsError, match="two savings"):
        Vectors.load(one)


def test_a_missing_file_is_told(tmp_path):
    path = made().save(tmp_path / "v")
    (path / "vocabulary.txt").unlink()
    with pytest.raises(VectorsError, match=r"vocabulary\.txt: No such file"):
        Vectors.load(path)
    with pytest.raises(VectorsError, match="nowhere: No such file"):
        Vectors.load(tmp_path / "nowhere")
    with pytest.raises(VectorsError, match="not saved by feedline"):
        Vectors.load(tmp_path)


def test_errors_are_the_users_to_mend():
    assert issubclass(VectorsError, FeedlineError)


def test_a_query_needs_no_compiler(tmp_path):
    """`feedline words similar` on a directory starts without numba."""
    path = made().save(tmp_path / "v")
    program = (
        "import sys\n"
        "from feedline.words.vectors.vectors import Vectors\n"
        f"Vectors.load({str(path)!a}).similar('king')\n"
        "print([m for m in ('numba', 'tensorflow', 'gensim') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == "[]\n"
