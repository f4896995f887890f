"""Other programs' files: what is written comes back, and what they write is read."""

from __future__ import annotations

import gc
import gzip
import logging
import lzma
import struct
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.words.peers import fasttext_model

from feedline.errors import OutputExists, VectorsError
from feedline.words import formats
from feedline.words.vectors.subwords import Subwords
from feedline.words.vectors.vectors import Vectors

NAMES = {
    "word2vec": "v.vec",
    "word2vec-binary": "v.bin",
    "glove": "v.glove",
    "numpy": "v.npz",
    "projector": "board",
}
# A word that every format can hold: no separator of any of them, no mark at the
# start of a file.
WORD = st.text(
    st.characters(
        exclude_categories=["Cs"], exclude_characters=" \t\r\n\x0b\x0c\0\ufeff"
    ),
    min_size=1,
    max_size=9,
)
NUMBER = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def any_vectors(draw) -> Vectors:
    words = draw(st.lists(WORD, min_size=1, max_size=8, unique=True))
    dim = draw(st.integers(2, 5))
    row = st.lists(NUMBER, min_size=dim, max_size=dim)
    rows = draw(st.lists(row, min_size=len(words), max_size=len(words)))
    return Vectors(tuple(words), np.array(rows, np.float32))


def made(words=("the", "größe", "漢字", "a-b", "5"), dim=6) -> Vectors:
    matrix = np.random.default_rng(0).normal(size=(len(words), dim)).astype(np.float32)
    return Vectors(tuple(words), matrix, np.arange(len(words), 0, -1))


def same(first: Vectors, second: Vectors) -> None:
    assert first.words == second.words
    # Bit for bit: zero has a sign.
    np.testing.assert_array_equal(
        first.matrix.view(np.int32), np.asarray(second.matrix).view(np.int32)
    )


# Round trips ------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(vectors=any_vectors())
def test_what_is_written_comes_back(tmp_path_factory, name, vectors):
    path = tmp_path_factory.mktemp("trip") / NAMES[name]
    vectors.export(path, name)
    same(formats.read(path, name), vectors)


@pytest.mark.parametrize("name", NAMES)
def test_a_format_is_known_by_its_content(tmp_path, name):
    vectors = made()
    vectors.export(tmp_path / NAMES[name], name)
    plain = tmp_path / "no-ending"
    (tmp_path / NAMES[name]).rename(plain)
    back = Vectors.load(plain)
    same(back, vectors)
    assert back.config["format"] == name


@pytest.mark.parametrize("name", ["word2vec", "word2vec-binary", "glove"])
def test_compressed_files_are_read(tmp_path, name):
    zstandard = pytest.importorskip("zstandard")
    vectors = made()
    data = vectors.export(tmp_path / NAMES[name], name).read_bytes()
    for pack in (gzip.compress, lzma.compress, zstandard.ZstdCompressor().compress):
        (tmp_path / "packed").write_bytes(pack(data))
        same(Vectors.load(tmp_path / "packed"), vectors)
        (tmp_path / "packed").write_bytes(pack(data)[:-9])
        with pytest.raises(VectorsError):
            Vectors.load(tmp_path / "packed")


@pytest.mark.parametrize("name", ["v.vec.gz", "v.bin.gz", "v.glove.gz"])
def test_a_name_that_ends_with_gz_is_packed(tmp_path, name):
    made().export(tmp_path / name)
    data = (tmp_path / name).read_bytes()
    assert data.startswith(b"\x1f\x8b")
    same(Vectors.load(tmp_path / name), made())
    made().export(tmp_path / name, force=True)
    assert (tmp_path / name).read_bytes() == data
    with pytest.raises(VectorsError, match="numpy is not written compressed"):
        made().export(tmp_path / "v.npz.gz")


def test_numpy_matrix_with_its_words_beside_it(tmp_path):
    vectors = made()
    vectors.export(tmp_path / "v.npy")
    back = Vectors.load(tmp_path / "v.npy")
    same(back, vectors)
    assert isinstance(back.matrix, np.memmap)
    (tmp_path / "v.txt").unlink()
    with pytest.raises(VectorsError, match=r"should be in v\.txt"):
        Vectors.load(tmp_path / "v.npy")


def test_counts_are_kept_where_there_is_a_place(tmp_path):
    for name in ("numpy", "projector"):
        made().export(tmp_path / NAMES[name], name)
        back = Vectors.load(tmp_path / NAMES[name])
        assert back.counts.tolist() == [5, 4, 3, 2, 1]


@pytest.mark.parametrize("name", ["word2vec", "glove", "numpy", "projector"])
def test_words_with_spaces(tmp_path, name):
    vectors = made(("the", "new york", "windows 95", ". . .", "a 1 2 3 4 5 6 7"))
    vectors.export(tmp_path / "v", name)
    back = Vectors.load(tmp_path / "v")
    same(back, vectors)


def test_a_word_that_a_format_cannot_hold_is_told(tmp_path):
    for name, word in [
        ("word2vec-binary", "new york"),
        ("word2vec", "a\nb"),
        ("glove", " a"),
        ("word2vec", ""),
        ("projector", "a\tb"),
        ("numpy", "a\0"),
    ]:
        with pytest.raises(VectorsError, match="word"):
            Vectors((word,), np.ones((1, 2))).export(tmp_path / "v", name)
        assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_unasked(tmp_path):
    for name, file in NAMES.items():
        made().export(tmp_path / file, name)
        with pytest.raises(OutputExists, match="--force"):
            made().export(tmp_path / file, name)
        made().export(tmp_path / file, name, force=True)


def test_the_name_says_the_format():
    assert formats.guess("a/v.BIN") == "word2vec-binary"
    assert formats.guess("v.npz") == "numpy"
    with pytest.raises(VectorsError, match=r"'v\.xyz' does not say the format"):
        formats.guess("v.xyz")
    with pytest.raises(VectorsError, match="cannot be read as 'nonsense'"):
        formats.read("x", "nonsense")


def test_the_first_words_only(tmp_path):
    vectors = made()
    for name, file in NAMES.items():
        vectors.export(tmp_path / file, name)
        back = formats.read(tmp_path / file, limit=2)
        assert back.words == vectors.words[:2]
        np.testing.assert_array_equal(back.matrix, vectors.matrix[:2])
    saved = vectors.save(tmp_path / "saved")
    assert formats.read(saved, limit=2).words == vectors.words[:2]


# Numbers ----------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
        st.floats(-1e38, 1e38).map(repr),
        st.from_regex(
            r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9])?", fullmatch=True
        ),
        st.from_regex(r"[+-]?\.[0-9]{1,30}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    )
)
def test_a_number_is_read_as_numpy_reads_it(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "number.glove"
    path.write_text(f"word {text} 1.5\nother 1 2\n", encoding="utf-8")
    with np.errstate(over="ignore"):
        wanted = np.array([float(text)]).astype(np.float32)[0]
    if np.isfinite(wanted):
        row = formats.read(path, "glove").matrix[0]
        assert row.view(np.int32).tolist() == [
            wanted.view(np.int32),
            np.float32(1.5).view(np.int32),
        ]
    else:
        with pytest.raises(VectorsError, match="line 1"):
            formats.read(path, "glove")


def test_a_number_between_two_floats_is_rounded_once(tmp_path):
    """Just above, at and below the middle of 1 and the next float32."""
    middle = "1.000000059604644775390625"
    texts = [middle, middle + "1", middle[:-1] + "4999"]
    lines = "".join(f"w{i} {t}\n" for i, t in enumerate(texts))
    (tmp_path / "v").write_text(lines, encoding="utf-8")
    found = formats.read(tmp_path / "v", "glove").matrix[:, 0]
    wanted = np.array([float(t) for t in texts]).astype(np.float32)
    np.testing.assert_array_equal(found, wanted)


# Other programs ---------------------------------------------------------------


def keyed(vectors: Vectors):
    from gensim.models import KeyedVectors

    kv = KeyedVectors(vectors.dim)
    kv.add_vectors(list(vectors.words), vectors.matrix)
    return kv


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_what_is_written(tmp_path, binary):
    from gensim.models import KeyedVectors

    vectors = made()
    vectors.export(tmp_path / "v", "word2vec-binary" if binary else "word2vec")
    found = KeyedVectors.load_word2vec_format(str(tmp_path / "v"), binary=binary)
    assert found.index_to_key == list(vectors.words)
    np.testing.assert_array_equal(found.vectors, vectors.matrix)


# gensim leaves the file open after its first look.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_gensim_reads_the_text_without_a_header(tmp_path):
    from gensim.models import KeyedVectors

    vectors = made()
    vectors.export(tmp_path / "v.glove")
    found = KeyedVectors.load_word2vec_format(
        str(tmp_path / "v.glove"), binary=False, no_header=True
    )
    gc.collect()  # so that the warning comes here, and not amid another test
    assert found.index_to_key == list(vectors.words)
    np.testing.assert_array_equal(found.vectors, vectors.matrix)


@pytest.mark.parametrize("options", [{}, {"binary": True}, {"write_header": False}])
def test_what_gensim_writes_is_read(tmp_path, options):
    vectors = made()
    keyed(vectors).save_word2vec_format(str(tmp_path / "v"), **options)
    same(Vectors.load(tmp_path / "v"), vectors)


def test_gensims_objects_both_ways():
    vectors = made()
    kv = vectors.to_gensim()
    assert kv.get_vecattr("the", "count") == 5
    wanted = [word for word, _ in kv.most_similar("the", topn=3)]
    assert [word for word, _ in vectors.similar("the", 3)] == wanted
    back = Vectors.from_gensim(kv)
    same(back, vectors)
    assert back.counts.tolist() == [5, 4, 3, 2, 1]
    with pytest.raises(VectorsError, match="is not gensim's KeyedVectors"):
        Vectors.from_gensim("king")


def test_gensims_own_file_is_written_and_not_opened(tmp_path):
    from gensim.models import KeyedVectors

    vectors = made()
    vectors.export(tmp_path / "v.kv")
    found = KeyedVectors.load(str(tmp_path / "v.kv"))
    np.testing.assert_array_equal(found["the"], vectors["the"])
    with pytest.raises(VectorsError, match="is a pickle"):
        Vectors.load(tmp_path / "v.kv")


def test_gensims_subwords_both_ways():
    from gensim.models import FastText

    text = [["größe", "plain", "words", "漢字"]] * 10
    model = FastText(
        text, vector_size=5, min_count=1, bucket=200, min_n=2, max_n=4, workers=1
    )
    vectors = Vectors.from_gensim(model)
    back = vectors.to_gensim()
    for word in ("größe", "unseen", "漢"):
        np.testing.assert_allclose(vectors[word], model.wv[word], atol=1e-7)
        np.testing.assert_allclose(back[word], model.wv[word], atol=1e-7)
    np.testing.assert_allclose(back.vectors_vocab, model.wv.vectors_vocab, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"model": "skipgram", "minn": 2, "maxn": 4, "bucket": 300},
        {"model": "cbow", "minn": 3, "maxn": 6, "bucket": 50},
        {"model": "skipgram", "minn": 0, "maxn": 0},
        {"model": "cbow", "minn": 1, "maxn": 2, "bucket": 70, "loss": "hs"},
    ],
)
def test_fasttexts_models_give_its_own_vectors(tmp_path, options):
    model = fasttext_model(tmp_path, **options)
    model.save_model(str(tmp_path / "m.bin"))
    vectors = Vectors.load(tmp_path / "m.bin")
    words, counts = model.get_words(include_freq=True)
    assert list(vectors.words) == words
    assert vectors.counts.tolist() == list(counts)
    assert vectors.config["model"] == options["model"]
    for word in vectors.words:
        np.testing.assert_array_equal(vectors[word], model.get_word_vector(word))
    if options["maxn"]:
        for word in ("unseen", "größer", "字", "x"):
            np.testing.assert_array_equal(vectors[word], model.get_word_vector(word))
    else:
        assert vectors.subwords is None


@pytest.mark.parametrize("name", ["toy-model.bin", "crime-and-punishment.bin"])
def test_gensim_reads_the_same_from_a_fasttext_model(name):
    from gensim.models.fasttext import load_facebook_vectors
    from gensim.test.utils import datapath

    vectors = Vectors.load(datapath(name))
    wanted = load_facebook_vectors(datapath(name))
    for word in [*vectors.words, "unseen", "непрочитанное"]:
        if word == "</s>":
            continue  # gensim adds n-grams to it, fastText does not

        np.testing.assert_allclose(vectors[word], wanted[word], atol=1e-6)


def test_a_quantised_model_is_refused(tmp_path):
    data = bytearray(_toy())
    data[_flag(data)] = 1
    (tmp_path / "m.ftz").write_bytes(data)
    with pytest.raises(VectorsError, match=r"quantised.*Give the \.bin"):
        Vectors.load(tmp_path / "m.ftz")


def test_rows_that_fasttext_never_wrote_are_mended_and_said(tmp_path, caplog):
    from feedline.words.vectors.subwords import table

    data = bytearray(_toy())
    words = Vectors.load(_path("toy-model.bin")).words
    at = _flag(data)
    _, rows, dim = struct.unpack_from("<?2q", data, at)
    used = set(table(words, 3, 6, rows - len(words))[1].tolist())
    free = next(i for i in range(rows - len(words)) if i not in used)
    struct.pack_into("<f", data, at + 17 + 4 * dim * (len(words) + free), float("nan"))
    (tmp_path / "m.bin").write_bytes(data)
    with caplog.at_level(logging.WARNING):
        vectors = Vectors.load(tmp_path / "m.bin")
    assert "1 of its n-gram rows hold NaN" in caplog.text
    assert not vectors.subwords.matrix[free].any()


def test_a_supervised_model_has_words_too():
    from gensim.test.utils import datapath

    vectors = Vectors.load(datapath("pang_lee_polarity_fasttext.bin"))
    assert vectors.config["model"] == "supervised"
    assert not any(word.startswith("__label__") for word in vectors.words)


def _path(name: str) -> Path:
    from gensim.test.utils import datapath

    return Path(datapath(name))


def _toy() -> bytes:
    return _path("toy-model.bin").read_bytes()


def _flag(data: bytes) -> int:
    """Where the matrix says whether it is quantised."""
    at = 8 + struct.calcsize("<12id")
    (entries,) = struct.unpack_from("<i", data, at)
    at += struct.calcsize("<3i2q")
    for _ in range(entries):
        at = data.index(b"\0", at) + 1 + struct.calcsize("<qb")
    return at


def test_an_export_for_the_projector(tmp_path):
    made().export(tmp_path / "board", "projector")
    config = (tmp_path / "board" / "projector_config.pbtxt").read_text("utf-8")
    assert 'tensor_path: "vectors.tsv"' in config
    metadata = (tmp_path / "board" / "metadata.tsv").read_text("utf-8").splitlines()
    assert metadata[:2] == ["word\tcount", "the\t5"]
    rows = np.loadtxt(tmp_path / "board" / "vectors.tsv", delimiter="\t")
    np.testing.assert_array_equal(rows.astype(np.float32), made().matrix)


# Files that are wrong ---------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 2\na 1 2\nb 3 4\nc 5\n", "line 4 has 1 numbers after its word and needs 2"),
        ("2 2\na 1 2\nb 3 x\n", "line 3 has 'x' where one of its 2 numbers"),
        ("2 2\na 1 2\nb 3 nan\n", "line 3, of the word 'b', holds 'nan'"),
        ("2 2\na 1 2\nb -inf 3\n", "line 3, of the word 'b', holds '-inf'"),
        ("2 2\na 1 2\nb 1e99 3\n", "line 3, of the word 'b', holds '1e99'"),
        ("3 2\na 1 2\nb 3 4\n", "cut short, or line 1 is wrong"),
        ("3 2\na 1.25 2.25\nb 3 4\n", "promises 3 words, but the file has 2"),
        ("1 2\na 1 2\nb 3 4\n", "promises 1 words, but the file has 2"),
        ("2 2\na 1 2 3\nb 3 4 5\n", "dimension 2, but the lines below have 3"),
        ("2 2\n 1 2\nb 3 4\n", "line 2 has 2 numbers and no word"),
        ("99999999 300\na 1 2\n", "promises 99,999,999 words"),
        ("2 0\na 1 2\n", "dimension 0; it must be from 1"),
        ("1 99999999999\na 1 2\n", "dimension 99,999,999,999"),
        ("the quick brown fox\n", "line 1 is 'the quick brown fox'"),
        ("a 1 2\nb 1 2\nc 1\n", "line 3 has 1 numbers"),
        ("", "it is empty"),
        ("\n\n", "line 1 is no text"),
    ],
)
def test_bad_text_names_the_line(tmp_path, text, message):
    (tmp_path / "v").write_text(text, encoding="utf-8")
    with pytest.raises(VectorsError) as caught:
        Vectors.load(tmp_path / "v")
    assert message in str(caught.value)
    assert str(tmp_path / "v") in str(caught.value)


@pytest.mark.parametrize("limit", [None, 1])
def test_no_thread_outlives_the_reading(tmp_path, limit):
    """Nor waits for the garbage collector while an error is kept: that ends it
    wherever it happens to be, even where threads are being started."""
    (tmp_path / "v").write_bytes(b"a 1 2\nb 1 2\nc 1\n")
    before = set(threading.enumerate())
    if limit is None:
        with pytest.raises(VectorsError) as caught:
            formats.read(tmp_path / "v", "glove")
        assert "line 3" in str(caught.value)
    else:
        assert formats.read(tmp_path / "v", "glove", limit=1).words == ("a",)
    assert set(threading.enumerate()) <= before


def test_bad_binary_names_the_byte(tmp_path):
    data = made().export(tmp_path / "v.bin").read_bytes()
    (tmp_path / "v.bin").write_bytes(data[:-3])
    with pytest.raises(VectorsError, match=r"promises 5 words|ends at byte 1"):
        Vectors.load(tmp_path / "v.bin")
    (tmp_path / "v.gz").write_bytes(gzip.compress(data[:-3]))
    with pytest.raises(
        VectorsError, match=rf"ends at byte {len(data) - 3}, within word 5"
    ):
        Vectors.load(tmp_path / "v.gz")
    (tmp_path / "v.bin").write_bytes(data + b"more")
    with pytest.raises(VectorsError, match="there is more after byte"):
        Vectors.load(tmp_path / "v.bin")
    (tmp_path / "v.bin").write_bytes(b"2 1\na \0\0\x80\x3fb \0\0\xc0\x7f")
    with pytest.raises(VectorsError, match="word 2, 'b', holds NaN"):
        Vectors.load(tmp_path / "v.bin")


def test_line_feeds_after_binary_vectors_are_read(tmp_path):
    """word2vec.c writes them, gensim does not."""
    rows = b"".join(
        word.encode() + b" " + row.tobytes() + b"\n"
        for word, row in zip(made().words, made().matrix, strict=True)
    )
    (tmp_path / "v").write_bytes(b"5 6\n" + rows)
    same(Vectors.load(tmp_path / "v"), made())


def test_a_repeated_word_is_kept_once_and_said(tmp_path, caplog):
    for name, data in [
        ("word2vec", b"3 2\na 1 2\nb 3 4\na 5 6\n"),
        ("glove", b"a 1 2\nb 3 4\na 5 6\n"),
    ]:
        (tmp_path / "v").write_bytes(data)
        with caplog.at_level(logging.WARNING):
            vectors = Vectors.load(tmp_path / "v")
        assert vectors.config["format"] == name
        assert vectors.words == ("a", "b")
        assert vectors.matrix.tolist() == [[1, 2], [3, 4]]
        assert "1 rows repeat an earlier word, such as 'a'" in caplog.text


def test_bytes_that_are_not_utf8_are_replaced_and_said(tmp_path, caplog):
    (tmp_path / "v").write_bytes(b"2 2\n\xff\xfe 1 2\nb 3 4\n")
    with caplog.at_level(logging.WARNING):
        assert Vectors.load(tmp_path / "v").words == ("��", "b")
    assert "1 words are not valid UTF-8" in caplog.text


def test_a_byte_order_mark_is_no_part_of_a_word(tmp_path):
    (tmp_path / "v").write_bytes(b"\xef\xbb\xbf1 2\na 1 2\n")
    assert Vectors.load(tmp_path / "v").words == ("a",)


def test_windows_line_ends_and_tabs(tmp_path):
    (tmp_path / "v").write_bytes(b"2 2\r\na\t1 2 \r\nb  3\t4\r\n")
    vectors = Vectors.load(tmp_path / "v")
    assert vectors.words == ("a", "b")
    assert vectors.matrix.tolist() == [[1, 2], [3, 4]]


def test_unicode_separators_belong_to_the_word(tmp_path):
    words = ("a\u00a0b", "c\u2028d", "e\x85f", "g\u3000h", "e\u0301")
    vectors = made(words)
    for name in ("word2vec", "glove", "word2vec-binary", "numpy", "projector"):
        vectors.export(tmp_path / name, name)
        same(formats.read(tmp_path / name, name), vectors)


def test_other_files_say_what_they_are(tmp_path):
    for data, message in [
        (b"\x89HDF\r\n\x1a\n", "is HDF5"),
        (b"\x80\x04\x95abc", "is a pickle"),
        (b"\x00\x01\x02\x03", "its format is not known"),
    ]:
        (tmp_path / "v").write_bytes(data)
        with pytest.raises(VectorsError, match=message):
            Vectors.load(tmp_path / "v")


def test_numpy_files_that_are_wrong(tmp_path):
    path = tmp_path / "v.npz"
    np.savez(path, words=np.array(["a"], dtype=object), vectors=np.ones((1, 2)))
    with pytest.raises(VectorsError, match="allow_pickle"):
        Vectors.load(path)
    np.savez(path, vectors=np.ones((1, 2)))
    with pytest.raises(VectorsError, match="has no 'words', only vectors"):
        Vectors.load(path)
    np.savez(path, words=np.array(["a", "b"]), vectors=np.ones((1, 2)))
    with pytest.raises(VectorsError, match="2 words and 1"):
        Vectors.load(path)
    np.savez(path, words=np.array(["a"]), vectors=np.array([["x", "y"]]))
    with pytest.raises(VectorsError, match="vectors are floats"):
        Vectors.load(path)
    np.savez(path, words=np.array(["a"]), vectors=np.array([[1.0, np.nan]]))
    with pytest.raises(VectorsError, match="'a', holds NaN"):
        Vectors.load(path)


def test_subwords_are_not_lost_silently_by_a_format(tmp_path):
    """A text export has the words only; the vectors of the words are whole."""
    grams = Subwords(np.ones((9, 6), np.float32), 3, 6)
    vectors = Vectors(made().words, made().matrix, subwords=grams)
    vectors.export(tmp_path / "v.vec")
    back = Vectors.load(tmp_path / "v.vec")
    assert back.subwords is None
    same(back, vectors)


# Found by presence ------------------------------------------------------------


def test_every_format_says_what_it_does():
    assert formats.readable() == (
        "fasttext",
        "feedline",
        "glove",
        "numpy",
        "projector",
        "word2vec",
        "word2vec-binary",
    )
    assert formats.writable() == (
        "gensim",
        "glove",
        "keras",
        "numpy",
        "projector",
        "savedmodel",
        "word2vec",
        "word2vec-binary",
    )
    known = formats.all().values()
    endings = [end for one in known for end in one.endings]
    assert len(endings) == len(set(endings))
    for one in known:
        assert one.write is None or one.used_by
        assert one.write is None or one.endings or one.folder
        assert one.readable or one.write is not None
        assert not (one.magic and not one.readable) or one.refused


NEW_FORMAT = '''
"""Words, one per line, each with a vector of one number: its place."""
import numpy as np
from feedline.words.formats.format import Format
from feedline.words.vectors.vectors import Vectors

def read(source, *, limit=None):
    source.line()
    words = source.read(1 << 20).decode().split()[:limit]
    return Vectors(tuple(words), np.arange(len(words), dtype=np.float32)[:, None])

def write(vectors, path):
    path.write_text("PLACES\\n" + " ".join(vectors.words))

FORMAT = Format("places", "nobody", (".places",), (b"PLACES",), read=read, write=write)
'''


def test_a_new_format_is_one_new_file(tmp_path, monkeypatch):
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "places.py").write_text(NEW_FORMAT, "utf-8")
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    formats.all.cache_clear()
    try:
        vectors = Vectors(("a", "b"), np.eye(2, dtype=np.float32))
        vectors.export(tmp_path / "v.places")
        found = Vectors.load(tmp_path / "v.places")
        assert found.words == ("a", "b")
        assert found.matrix.tolist() == [[0], [1]]
    finally:
        formats.all.cache_clear()
        sys.modules.pop("feedline.words.formats.places", None)
