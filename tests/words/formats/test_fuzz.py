"""Damaged and hostile files: an error of ours or good vectors, in little memory."""

from __future__ import annotations

import gzip
import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedline.errors import VectorsError
from feedline.words import formats
from feedline.words.vectors.vectors import Vectors

FUZZED = ("word2vec", "word2vec-binary", "glove", "fasttext", "numpy", "feedline")
MEGABYTES = 64


@pytest.fixture(scope="module")
def samples(tmp_path_factory) -> dict[str, bytes]:
    """A good file of each kind."""
    from gensim.test.utils import datapath

    folder = tmp_path_factory.mktemp("samples")
    rng = np.random.default_rng(0)
    words = ("the", "größe", "漢字", "a-b", "12", "ein wort")
    vectors = Vectors(words, rng.normal(size=(6, 5)).astype(np.float32))
    plain = Vectors(words[:5], vectors.matrix[:5])
    found = {
        "word2vec": vectors.export(folder / "v.vec").read_bytes(),
        "glove": vectors.export(folder / "v.glove").read_bytes(),
        "numpy": vectors.export(folder / "v.npz").read_bytes(),
        "word2vec-binary": plain.export(folder / "v.bin").read_bytes(),
    }
    with open(datapath("toy-model.bin"), "rb") as file:
        found["fasttext"] = file.read()
    saved = vectors.save(folder / "saved")
    found["feedline"] = (saved / "vectors.json").read_bytes()
    for name in ("vectors.safetensors", "vocabulary.txt"):
        found[name] = (saved / name).read_bytes()
    return found


@pytest.fixture(scope="module")
def compiled(tmp_path_factory, samples) -> None:
    """All readers have run once: compiling takes memory of its own."""
    place = tmp_path_factory.mktemp("compiled") / "v"
    for name in FUZZED[:-1]:
        place.write_bytes(samples[name])
        formats.read(place, name)


def damaged(data: bytes, change: st.DataObject) -> bytes:
    """Cut, flip, insert, repeat or drop bytes, up to three times."""
    for _ in range(change.draw(st.integers(1, 3))):
        at = change.draw(st.integers(0, max(0, len(data) - 1)))
        end = min(len(data), at + change.draw(st.integers(1, 40)))
        kind = change.draw(st.sampled_from(("cut", "flip", "insert", "repeat", "drop")))
        if kind == "cut":
            data = data[:at]
        elif kind == "flip":
            data = (
                data[:at]
                + change.draw(st.binary(min_size=1, max_size=4))
                + data[at + 1 :]
            )
        elif kind == "insert":
            text = st.sampled_from((b"\n", b" ", b"nan", b"1e9", b"\0", b"\xff" * 8))
            data = data[:at] + change.draw(text) + data[at:]
        elif kind == "repeat":
            data = data[:end] + data[at:]
        else:
            data = data[:at] + data[end:]
    return data


def read(path, name: str | None) -> None:
    """Vectors that can be used, or a VectorsError; nothing else."""
    try:
        vectors = formats.read(path, name)
    except VectorsError as error:
        if str(path) not in str(error):
            raise AssertionError("the error does not name the file") from error
        return
    assert len(vectors.words) == len(vectors.matrix)
    assert len(vectors.index) == len(vectors)
    assert np.isfinite(vectors.matrix).all()


@pytest.mark.parametrize("name", FUZZED[:-1])
@pytest.mark.parametrize("given_format", [True, False])
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(change=st.data())
def test_a_damaged_file(tmp_path, samples, name, given_format, change):
    path = tmp_path / "v"
    path.write_bytes(damaged(samples[name], change))
    read(path, name if given_format else None)


@pytest.mark.parametrize(
    "name", ["vectors.json", "vectors.safetensors", "vocabulary.txt"]
)
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(change=st.data())
def test_a_damaged_directory(tmp_path, samples, name, change):
    files = {
        "vectors.json": samples["feedline"],
        "vectors.safetensors": samples["vectors.safetensors"],
        "vocabulary.txt": samples["vocabulary.txt"],
    }
    files[name] = damaged(files[name], change)
    for file, data in files.items():
        (tmp_path / file).write_bytes(data)
    read(tmp_path, None)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.binary(max_size=300), name=st.sampled_from((None, *FUZZED[:-1])))
def test_bytes_of_any_kind(tmp_path, data, name):
    (tmp_path / "v").write_bytes(data)
    read(tmp_path / "v", name)


def test_every_format_given_another_formats_file(tmp_path, samples):
    for data in samples.values():
        (tmp_path / "v").write_bytes(data)
        for name in FUZZED[:-1]:
            read(tmp_path / "v", name)


# Lies about the size ----------------------------------------------------------


def lying_fasttext(entries: int, rows: int, dim: int, max_n: int) -> bytes:
    arguments = struct.pack(
        "<12id", dim, 5, 5, 1, 5, 1, 2, 2, 2**31 - 1, 3, max_n, 1, 0
    )
    sizes = struct.pack("<3i2q", entries, entries, 0, 9, -1)
    words = b"".join(b"w%d\0" % i + struct.pack("<qb", 1, 0) for i in range(2))
    return (
        struct.pack("<2i", 793712314, 12)
        + arguments
        + sizes
        + words
        + struct.pack("<?2q", False, rows, dim)
    )


def lying_npz(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("words", "vectors"):
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array_header_1_0(
                    member,
                    {
                        "descr": "<U9" if name == "words" else "<f4",
                        "fortran_order": False,
                        "shape": shape[:1] if name == "words" else shape,
                    },
                )
    return file.getvalue()


LIES = {
    "words": b"99999999999 300\nthe 1 2 3\n",
    "dimension": b"2 1000000\nthe 1 2 3\nof 1 2 3\n",
    "binary words": b"99999999999 300\nthe \0\0\0\0",
    "binary dimension": b"1 1000000\nthe \0\0\0\0",
    "both": b"999999999999999999 999999999999999999\nthe \0\0",
    "fasttext entries": lying_fasttext(2**31 - 1, 2**40, 100, 6),
    "fasttext rows": lying_fasttext(2, 2**60, 100, 6),
    "fasttext rows below zero": lying_fasttext(2, -5, 100, 6),
    "fasttext dimension": lying_fasttext(2, 4, 2**31 - 1, 6),
    "fasttext n-grams": lying_fasttext(2, 4, 100, 2**31 - 1),
    "numpy": lying_npz((2**40, 300)),
    "numpy, beyond 64 bits": lying_npz((2**62, 2**62)),
}


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("lie", LIES)
def test_a_lying_header_costs_no_memory(tmp_path, lie, packed):
    path = tmp_path / "v"
    path.write_bytes(gzip.compress(LIES[lie]) if packed else LIES[lie])
    for name in (None, "word2vec", "word2vec-binary", "glove", "fasttext"):
        tracemalloc.start()
        try:
            read(path, name)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < MEGABYTES << 20
    with pytest.raises(VectorsError):
        formats.read(path)


def test_a_lying_npy_costs_no_memory(tmp_path):
    file = io.BytesIO()
    header = {"descr": "<f4", "fortran_order": False, "shape": (2**40, 300)}
    np.lib.format.write_array_header_1_0(file, header)
    (tmp_path / "v.npy").write_bytes(file.getvalue())
    (tmp_path / "v.txt").write_bytes(b"a\n")
    with pytest.raises(VectorsError, match=r"v\.npy"):
        formats.read(tmp_path / "v.npy")


def test_one_endless_line(tmp_path):
    """Packed, so that the line costs the test nothing."""
    with gzip.open(tmp_path / "v.gz", "wb", 1) as file:
        for _ in range(40):
            file.write(b"1.5 " * (1 << 18))
    with pytest.raises(VectorsError, match=r"longer than 16.8 MB"):
        formats.read(tmp_path / "v.gz")


def test_a_long_fasttext_word_is_not_cut_into_all_its_ngrams(tmp_path):
    data = bytearray(lying_fasttext(2, 4, 1, 6))
    at = data.index(b"w0\0")
    data[at : at + 2] = b"x" * 100_000
    (tmp_path / "v").write_bytes(data + bytes(400))
    with pytest.raises(VectorsError, match="does not end within"):
        formats.read(tmp_path / "v")
