"""Shards are used again when they are the same and whole, and never otherwise."""

from __future__ import annotations

import json
import os
import resource
import threading

import numpy as np
import pytest
from tests.words.made_text import decode, write

from feedline.errors import CorpusError
from feedline.words.text.corpus import Corpus, _build, prepare, reopen
from feedline.words.text.shards import END, Shards, ShardWriter
from feedline.words.text.vocabulary import Vocabulary

TEXT = "to be or not to be\nthat is the question\n" * 50


@pytest.fixture
def corpus(tmp_path):
    return write(tmp_path / "c.txt", TEXT)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def made_at(cache) -> int:
    """Which building of the shards is in place."""
    return (cache / "tokens").stat().st_ino


def test_ids_end_and_files(tmp_path):
    sentences = [np.arange(size, dtype=np.int32) for size in (3, 1, 5, 7)]
    writer = ShardWriter(tmp_path, ids_per_file=6)
    for ids in sentences:
        writer.append(np.append(ids, np.int32(END)))
    writer.finish(b"", 16, 4, {"from": "nowhere"})
    shards = Shards.open(tmp_path)
    assert [len(array) for array in shards.arrays] == [6, 6, 6, 2]
    assert (shards.tokens, shards.sentences) == (16, 4)
    assert shards.facts == {"from": "nowhere"}
    expected = np.concatenate([np.append(ids, -1) for ids in sentences])
    assert np.array_equal(np.concatenate(shards.arrays), expected)
    assert all(isinstance(array, np.memmap) for array in shards.arrays)
    assert not shards.arrays[0].flags.writeable
    assert (tmp_path / "00000.ids").read_bytes() == expected[:6].astype("<i4").tobytes()


def test_a_second_run_starts_at_once(corpus, cache):
    first, _ = prepare(Corpus.of(corpus), cache)
    before = made_at(cache)
    told = []
    second, shards = prepare(Corpus.of(corpus), cache, progress=told.append)
    assert second == first
    assert shards.path == cache / "tokens"
    assert made_at(cache) == before
    assert told == []
    assert sorted(entry.name for entry in cache.iterdir()) == ["tokens", "tokens.lock"]
    assert reopen(cache)[0] == first
    assert Shards.open(cache).tokens == shards.tokens == first.tokens


@pytest.mark.parametrize(
    "change",
    ["text", "touch", "lower", "min_count", "max_vocab", "phrases", "vocabulary"],
)
def test_other_text_or_options_are_encoded_again(corpus, cache, change):
    vocabulary, _ = prepare(Corpus.of(corpus), cache)
    before = made_at(cache)
    if change == "text":
        write(corpus, TEXT + "more\n" * 9)
    if change == "touch":
        os.utime(corpus, ns=(0, 0))
    options = {
        "min_count": {"min_count": 60},
        "max_vocab": {"max_vocab": 3},
        "phrases": {"phrases": 1},
        "vocabulary": {"vocabulary": vocabulary},
    }.get(change, {})
    prepare(Corpus.of(corpus, lower=change == "lower"), cache, **options)
    assert made_at(cache) != before


def harm_a_bit(tokens):
    data = bytearray((tokens / "00000.ids").read_bytes())
    data[len(data) // 2] ^= 1
    (tokens / "00000.ids").write_bytes(data)


def harm_the_count(tokens):
    manifest = json.loads((tokens / "manifest.json").read_bytes())
    manifest["tokens"] += 1
    (tokens / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def harm_the_format(tokens):
    (tokens / "manifest.json").write_bytes(b'{"format": 99}')


HARM = {
    "its checksum is wrong": harm_a_bit,
    "bytes, not": lambda tokens: os.truncate(tokens / "00000.ids", 40),
    "00000.ids is damaged: it is missing": lambda t: (t / "00000.ids").unlink(),
    "holds no shards": lambda tokens: (tokens / "manifest.json").unlink(),
    "it is not JSON": lambda tokens: (tokens / "manifest.json").write_bytes(b"{"),
    "it is not a manifest": lambda t: (t / "manifest.json").write_bytes(b"[]"),
    "manifest.json is damaged: its checksum": harm_the_count,
    "its format is 99, not 1": harm_the_format,
    "vocabulary.txt is damaged": lambda t: (t / "vocabulary.txt").write_bytes(b"a 1\n"),
    "vocabulary.txt cannot be read": lambda t: (t / "vocabulary.txt").unlink(),
}


@pytest.mark.parametrize("message", HARM)
def test_what_is_damaged_is_named_and_made_again(corpus, cache, message):
    vocabulary, _ = prepare(Corpus.of(corpus), cache)
    HARM[message](cache / "tokens")
    before = made_at(cache)
    with pytest.raises(CorpusError, match=message):
        reopen(cache / "tokens")
    again, shards = prepare(Corpus.of(corpus), cache)
    assert again == vocabulary
    assert shards.tokens == vocabulary.tokens
    assert made_at(cache) != before


def test_what_cannot_be_recognised_is_made_anew(cache, corpus):
    for source in ([["a", "b"]] * 9, [["c"]] * 9):
        vocabulary, shards = prepare(Corpus.of(source), cache)
        assert decode(vocabulary, shards) == source
    prepare(Corpus.of(corpus, tokenize=str.split), cache)
    vocabulary, _ = prepare(Corpus.of(corpus, tokenize=lambda line: ["x"]), cache)
    assert vocabulary.words == ("x",)


def test_a_file_that_changes_while_it_is_read_is_read_again_next_time(corpus, cache):
    def append(*_):
        with corpus.open("a", encoding="utf-8") as file:
            file.write("more\n")

    prepare(Corpus.of(corpus), cache, progress=append)
    assert Shards.open(cache).facts["fingerprint"] is None


def test_what_a_killed_process_left_is_removed(corpus, cache):
    write(cache / "tokens.building-0123" / "00000.ids", b"half")
    write(cache / "tokens.old-0123" / "00000.ids", b"old")
    prepare(Corpus.of(corpus), cache)
    assert sorted(entry.name for entry in cache.iterdir()) == ["tokens", "tokens.lock"]


@pytest.mark.parametrize("name", ["tokens", "tokens/thesis.tex"])
def test_files_of_others_are_never_removed(corpus, cache, name):
    write(cache / name, "mine")
    with pytest.raises(CorpusError, match=f"{name} was not made by feedline"):
        prepare(Corpus.of(corpus), cache)
    assert (cache / name).read_bytes() == b"mine"


def test_an_error_keeps_what_was_there(corpus, cache):
    prepare(Corpus.of(corpus), cache)
    before = made_at(cache)
    with pytest.raises(CorpusError, match="no word is left"):
        prepare(Corpus.of(corpus), cache, min_count=10_000)
    assert made_at(cache) == before
    assert sorted(entry.name for entry in cache.iterdir()) == ["tokens", "tokens.lock"]


@pytest.mark.parametrize("limit", [1000, 9000])
def test_a_full_disk_is_explained_and_leaves_nothing(tmp_path, cache, limit):
    # A limit on a file's size fails as a full disk does: in the middle of a write.
    words = " ".join(f"word{i}" for i in range(2000))
    corpus = Corpus.of(write(tmp_path / "c.txt", words))
    # What is compiled on the way is kept in files too, larger than the limit.
    prepare(corpus, tmp_path / "first", min_count=1)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(CorpusError) as caught:
            prepare(corpus, cache, min_count=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "cannot write" in str(caught.value)
    assert "File too large. Free some space" in str(caught.value)
    assert [entry.name for entry in cache.iterdir()] == ["tokens.lock"]


def test_a_place_that_cannot_be_written_is_explained(tmp_path, corpus):
    write(tmp_path / "file", "")
    with pytest.raises(CorpusError, match="cannot write"):
        prepare(Corpus.of(corpus), tmp_path / "file")


def test_two_at_once_build_once(corpus, cache, monkeypatch):
    found: list[Vocabulary] = []
    built = []
    together = threading.Barrier(4)

    def build(*args):
        built.append(args)
        return _build(*args)

    def run():
        together.wait(300)
        found.append(prepare(Corpus.of(corpus), cache)[0])

    monkeypatch.setattr("feedline.words.text.corpus._build", build)
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert len(found) == 4
    assert all(vocabulary == found[0] for vocabulary in found)
