"""Text from anywhere becomes counts and ids; what cannot be read is explained."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import zstandard
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
from feedline.words.text import counting
from feedline.words.text.blocks import FileBlocks
from feedline.words.text.corpus import Corpus, prepare
from feedline.words.text.counting import count
from feedline.words.text.readers import find_files

COMPRESSORS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "zstd": zstandard.compress,
}


def counts_of(path: Path, *, threads: int = 2, **options) -> dict[str, int]:
    """What the threads count in one file, in blocks as small as they get."""
    blocks = FileBlocks(find_files([path]), block=1)
    return as_dict(count(blocks, threads=threads, **options))


def as_dict(counted) -> dict[str, int]:
    size = len(counted.table)
    words = counted.table.words(np.arange(size))
    counts = counted.table.counts[:size].tolist()
    return {w.decode(): n for w, n in zip(words, counts, strict=True)}


@settings(max_examples=80, deadline=None)
@given(text=TEXTS, lower=st.booleans(), threads=st.sampled_from([1, 2, 3]))
def test_counts_are_those_of_a_counter(tmp_path_factory, text, lower, threads):
    sentences = sentences_of(BEGINNING + text, lower=lower)
    with new_place(tmp_path_factory) as place:
        path = write(place / "c.txt", BEGINNING + text)
        found = counts_of(path, threads=threads, lower=lower)
    assert found == Counter(word for words in sentences for word in words)


@settings(max_examples=40, deadline=None)
@given(text=TEXTS, least=st.integers(1, 3), lower=st.booleans())
def test_decoding_gives_the_words_of_the_vocabulary(
    tmp_path_factory, text, least, lower
):
    with new_place(tmp_path_factory) as place:
        corpus = Corpus.of(write(place / "c.txt", BEGINNING + text), lower=lower)
        vocabulary, shards = prepare(corpus, place / "cache", min_count=least)
    sentences = sentences_of(BEGINNING + text, lower=lower)
    counts = Counter(word for words in sentences for word in words)
    kept = [[w for w in words if counts[w] >= least] for words in sentences]
    assert decode(vocabulary, shards) == [words for words in kept if words]
    assert vocabulary.raw_tokens == len((BEGINNING + text).split())
    assert vocabulary.tokens == shards.tokens
    assert list(vocabulary.words) == sorted(
        (w for w in counts if counts[w] >= least),
        key=lambda w: (-counts[w], w.encode()),
    )
    assert shards.facts["invalid_utf8"] == sum(
        w.decode("utf-8", "replace").count("\ufffd") - w.count("\ufffd".encode())
        for w in text.split()
        if len(w) <= 1024
    )


def test_many_words_make_the_table_grow(tmp_path):
    words = [f"{'word' * (i % 7)}{i}" for i in range(120_000)]
    path = write(tmp_path / "c.txt", " ".join(words * 2))
    counted = count(FileBlocks(find_files([path])), threads=1)
    assert as_dict(counted) == dict.fromkeys(words, 2)


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_compression_is_told_by_the_first_bytes(tmp_path, kind):
    compress = COMPRESSORS[kind]
    # Two members in one file, as `cat a.gz b.gz` makes; the name says nothing.
    data = compress(b"one two\n" * 50_000) + compress(b"three")
    path = write(tmp_path / "corpus.doc", data)
    assert counts_of(path) == {"one": 50_000, "two": 50_000, "three": 1}


@pytest.mark.parametrize("kind", [kind for kind in COMPRESSORS if kind != "plain"])
@pytest.mark.parametrize("harm", ["cut off", "damaged"])
def test_a_broken_file_is_named(tmp_path, kind, harm):
    text = "".join(f"{i} words\n" for i in range(20_000)).encode()
    data = bytearray(COMPRESSORS[kind](text))
    if harm == "cut off":
        data = data[: len(data) // 2]
    else:
        data[len(data) // 2 : len(data) // 2 + 64] = bytes(64)
    path = write(tmp_path / "corpus", bytes(data))
    with pytest.raises(CorpusError, match="corpus is damaged or cut off") as caught:
        prepare(Corpus.of(path), tmp_path / "cache")
    assert "again" in str(caught.value)
    assert not list((tmp_path / "cache").glob("tokens*/"))


def test_standard_input_is_a_dash(tmp_path, monkeypatch):
    for data in (b"to be\nor not", gzip.compress(b"to be\nor not")):
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
        )
        assert words_of("-", tmp_path) == [["to", "be"], ["or", "not"]]
        assert not sys.stdin.closed


def test_files_globs_and_directories(tmp_path, monkeypatch, caplog):
    write(tmp_path / "d" / "b.txt", "b")
    write(tmp_path / "d" / "a.txt", "a")
    write(tmp_path / "d" / "deep" / "c.txt", gzip.compress(b"c"))
    write(tmp_path / "d" / ".hidden", "hidden")
    write(tmp_path / "d" / "picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    write(tmp_path / "odd[1].txt", "odd")
    monkeypatch.chdir(tmp_path)
    # One sentence for each: the end of a file ends its last word and sentence.
    assert words_of("d", tmp_path) == [["a"], ["b"], ["c"]]
    assert "picture.png is a binary file" in caplog.text
    assert words_of("d/*.txt", tmp_path) == [["a"], ["b"]]
    assert words_of("d/**/*.txt", tmp_path) == [["a"], ["b"], ["c"]]
    assert words_of(["d/b.txt", Path("d/a.txt")], tmp_path) == [["b"], ["a"]]
    assert words_of(sorted(Path("d").glob("*.txt")), tmp_path) == [["a"], ["b"]]
    assert words_of(iter([Path("d/a.txt")]), tmp_path) == [["a"]]
    assert words_of("odd[1].txt", tmp_path) == [["odd"]]


def test_small_files_share_a_block_but_not_a_sentence(tmp_path):
    names = [f"{i:03}" for i in range(300)]
    for i, name in enumerate(names):
        write(tmp_path / "d" / name, f"{name} x" + " y" * i + "\n" * (i % 3))
    blocks = FileBlocks(find_files([tmp_path / "d"]), block=2048)
    counted = count(blocks, threads=2)
    counts = as_dict(counted)
    assert counts == {**dict.fromkeys(names, 1), "x": 300, "y": 300 * 299 // 2}
    assert [words[0] for words in words_of(tmp_path / "d", tmp_path)] == names


def test_encoded_text_below_the_corpus_is_no_part_of_it(tmp_path):
    write(tmp_path / "c.txt", "one two")
    for _ in range(2):
        corpus = Corpus.of(tmp_path)
        found = decode(*prepare(corpus, tmp_path / "cache", min_count=1))
        assert found == [["one", "two"]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.txt", None, r"there is no file '.*missing.txt'"),
        ("*.nothing", None, r"no file matches '.*\*.nothing'"),
        ("bin", b"MZ\0\1" * 100, "bin is a binary file"),
        ("wide.txt", "naïve words".encode("utf-16"), "wide.txt is UTF-16"),
        ("old.txt", ("слово " * 30).encode("cp1251"), "old.txt is not UTF-8"),
        ("empty.txt", b"", "the corpus is empty"),
        ("blank.txt", b" \n\t\r\n ", "the corpus is empty"),
        ("run.txt", b"x" * 5000, "longer than 1,024 bytes"),
    ],
)
def test_what_is_no_corpus_is_explained(tmp_path, name, content, message):
    if content is not None:
        write(tmp_path / name, content)
    with pytest.raises(CorpusError, match=message):
        prepare(Corpus.of(str(tmp_path / name)), tmp_path / "cache")


def test_a_directory_without_text_is_explained(tmp_path):
    (tmp_path / "d").mkdir()
    with pytest.raises(CorpusError, match="has no files in it"):
        Corpus.of(tmp_path / "d")
    write(tmp_path / "d" / "x.bin", b"\0")
    with pytest.raises(CorpusError, match="has 1 files, none of them text"):
        Corpus.of(tmp_path / "d")


def test_invalid_utf8_is_replaced_counted_and_reported(tmp_path, caplog):
    path = write(tmp_path / "c.txt", b"good b\xffd b\xfed \xff\xff caf\xc3\xa9\n")
    vocabulary, shards = prepare(Corpus.of(path), tmp_path / "cache", min_count=1)
    assert dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)) == {
        "b\ufffdd": 2,
        "café": 1,
        "good": 1,
        "\ufffd\ufffd": 1,
    }
    assert shards.facts["invalid_utf8"] == 4
    assert "4 invalid UTF-8 sequences" in caplog.text


def test_a_byte_order_mark_is_no_part_of_a_word(tmp_path):
    path = write(tmp_path / "c.txt", b"\xef\xbb\xbfone two")
    assert words_of(path, tmp_path) == [["one", "two"]]


def test_long_sentences_are_cut_and_long_runs_left_out(tmp_path):
    words = ["w"] * 20_000 + ["x" * 1024, "y" * 1025, "é" * 600] + ["z"] * 5_000
    path = write(tmp_path / "c.txt", " ".join(words) + "\n" + " ".join(["v"] * 10_000))
    sentences = words_of(path, tmp_path)
    assert [len(s) for s in sentences] == [10_000, 10_000, 5_001, 10_000]
    assert sentences[2][:2] == ["x" * 1024, "z"]


def test_runs_beyond_a_block_are_one_token(tmp_path):
    path = write(tmp_path / "c.txt", b"a " + b"x" * 3_000_000 + b" b " + b"y" * 9_000)
    counted = count(FileBlocks(find_files([path]), block=4096), threads=2)
    assert as_dict(counted) == {"a": 1, "b": 1}
    assert (counted.tokens, counted.long) == (4, 2)


def test_options_that_exclude_each_other_or_are_wrong(tmp_path):
    path = write(tmp_path / "c.txt", "a")
    with pytest.raises(CorpusError, match="both a pattern"):
        Corpus.of(path, pattern="a", tokenize=str.split)
    with pytest.raises(CorpusError, match=r"pattern '\(' is not a regular expression"):
        Corpus.of(path, pattern="(")
    with pytest.raises(CorpusError, match="split already"):
        Corpus.of([["a"]], pattern="a")
    corpus = Corpus.of(path)
    assert Corpus.of(corpus) is corpus
    for options in ({"min_count": 0}, {"max_vocab": 0}, {"phrases": -1}):
        with pytest.raises(CorpusError, match="give"):
            prepare(corpus, tmp_path / "cache", **options)


def test_a_min_count_that_leaves_nothing_says_how_far_it_was(tmp_path):
    path = write(tmp_path / "c.txt", "a b b c")
    with pytest.raises(CorpusError) as caught:
        prepare(Corpus.of(path), tmp_path / "cache", min_count=3)
    message = str(caught.value)
    assert "of 3 words in 4 tokens none was seen 3 times" in message
    assert "'b', was seen 2 times: give min_count 2 or less" in message


def test_the_vocabulary_can_be_bounded(tmp_path):
    path = write(tmp_path / "c.txt", "b a c c\na b d\n")
    vocabulary, shards = prepare(
        Corpus.of(path), tmp_path / "cache", min_count=1, max_vocab=2
    )
    assert vocabulary.words == ("a", "b")
    assert decode(vocabulary, shards) == [["b", "a"], ["a", "b"]]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_bounded_table_forgets_the_rarest(tmp_path, threads):
    from feedline.words.text.encode import encode
    from feedline.words.text.shards import ShardWriter
    from feedline.words.text.spool import Spool

    rare = (f"frequent rare{i} twice{i // 2}\n" for i in range(3000))
    path = write(tmp_path / "c.txt", "".join(rare))
    blocks = FileBlocks(find_files([path]), block=1)
    with closing(Spool(tmp_path, "text")) as spool:
        counted = count(blocks, threads=threads, bound=60, spool=spool)
    assert counted.forgotten > 3000
    assert len(counted.table) <= (60 + 200) * threads
    counts = as_dict(counted)
    assert counts["frequent"] == 3000
    # What is left in the text agrees with what was counted.
    (tmp_path / "out").mkdir()
    writer = ShardWriter(tmp_path / "out")
    tokens, _ = encode(
        spool, counted.maps, np.arange(len(counts), dtype=np.int32), writer
    )
    writer.finish(b"", tokens, 0, {})
    ids = np.fromfile(tmp_path / "out" / "00000.ids", "<i4")
    assert tokens == sum(counts.values())
    found = np.bincount(ids[ids >= 0], minlength=len(counts))
    assert found.tolist() == list(counts.values())


def test_a_given_vocabulary_keeps_its_ids(tmp_path):
    path = write(tmp_path / "c.txt", "The cat saw the dog\n")
    old, _ = prepare(Corpus.of([["dog", "cat", "dog"]]), tmp_path / "old", min_count=1)
    vocabulary, shards = prepare(
        Corpus.of(path, lower=True), tmp_path / "cache", vocabulary=old
    )
    assert vocabulary == old
    assert decode(vocabulary, shards) == [["cat", "dog"]]
    other, _ = prepare(Corpus.of([["bird"]]), tmp_path / "bird", min_count=1)
    with pytest.raises(CorpusError, match="none of the 1 words of the vocabulary"):
        prepare(Corpus.of(path), tmp_path / "cache", vocabulary=other)


def test_progress_is_told(tmp_path):
    path = write(tmp_path / "c.txt", gzip.compress(b"a b c\n" * 1000))
    told = []
    prepare(
        Corpus.of(path),
        tmp_path / "cache",
        phrases=1,
        progress=lambda *call: told.append(call),
    )
    size = path.stat().st_size
    assert ("count", size, size) in told
    assert {stage for stage, _, _ in told} == {"count", "phrases 1", "encode"}
    for _, done, total in told:
        assert 0 <= done <= total


def test_an_interrupted_count_leaves_nothing(tmp_path, monkeypatch):
    # A thread may have to compile first; it is not to be left behind for that.
    monkeypatch.setattr(counting, "_PATIENCE", 300)
    path = write(tmp_path / "c.txt", "a b c\n" * 1000)

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(Corpus.of(path), tmp_path / "cache", progress=interrupt)
    assert not list((tmp_path / "cache").glob("tokens*/"))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"pattern": r"\w+"}, {"lower": True}])
def test_a_line_of_100_mb_takes_no_more_memory_than_a_short_one(tmp_path, options):
    with (tmp_path / "c.txt").open("wb") as file:
        for _ in range(100):
            file.write(b"some words of one endless line " * 33_000)
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from feedline.words.text.corpus import Corpus, prepare\n"
        "def peak():\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000\n"
        f"options = {options!r}\n"
        "Path('small.txt').write_text('some words\\n' * 500_000)\n"
        "prepare(Corpus.of('small.txt', **options), Path('small'))\n"
        "before = peak()\n"
        "_, shards = prepare(Corpus.of('c.txt', **options), Path('cache'))\n"
        "print(peak() - before, shards.tokens, shards.sentences)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    grown, tokens, sentences = map(int, done.stdout.split())
    assert (tokens, sentences) == (19_800_000, 1980)
    assert grown < 60
