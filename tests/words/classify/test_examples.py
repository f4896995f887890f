"""Labelled texts as they lie in files, well made and ill made."""

from __future__ import annotations

import csv
import gzip
import io
import lzma

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.errors import CorpusError
from feedline.words import classify
from feedline.words.classify.encoded import encode
from feedline.words.classify.examples import FileExamples, Layout, from_pairs


def read(tmp_path, content, name="t.txt", labelled=True, **layout):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    found = FileExamples(path, Layout(**layout), labelled=labelled)
    return [
        (text.decode(), [label.decode() for label in labels]) for labels, text in found
    ]


# Good files -------------------------------------------------------------------

LINES = (
    "__label__a one  two\r\n"
    "\t__label__a __label__b three\n"
    "four __label__c five x__label__y\n"
    "\n"
    "no label here\n"
    "__label__größe 漢字"
)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_lines_of_fasttext(tmp_path, pack):
    assert read(tmp_path, pack(LINES.encode())) == [
        ("one  two", ["a"]),
        ("three", ["a", "b"]),
        ("four five x__label__y", ["c"]),
        ("", []),
        ("no label here", []),
        ("漢字", ["größe"]),
    ]


def test_a_table_with_a_header(tmp_path):
    content = (
        "id,Text,Label\r\n"
        '1,"a, quoted ""text""",x\r\n'
        '2,"two\nlines",y z\n'
        "\n"
        "3,plain, x \n"
    )
    expected = [('a, quoted "text"', ["x"]), ("two lines", ["y z"]), ("plain", ["x"])]
    assert read(tmp_path, content, "t.csv") == expected
    assert read(tmp_path, gzip.compress(content.encode()), "t.csv.gz") == expected
    assert read(tmp_path, content, "t.data", format="csv", label="LABEL") == expected
    both = read(tmp_path, content, "t.csv", text=("id", "text"))
    assert both[2] == ("3 plain", ["x"])


def test_a_table_without_a_header(tmp_path):
    content = "x,a title,a body\ny,other,words\n"
    assert read(tmp_path, content, "t.csv") == [
        ("a title a body", ["x"]),
        ("other words", ["y"]),
    ]
    by_number = read(tmp_path, content, "t.csv", label=3, text=(1,))
    assert by_number[0] == ("x", ["a body"])
    assert read(tmp_path, "just a text\n", "t.csv", labelled=False) == [
        ("just a text", [])
    ]


def test_tabs_divide_and_quotes_are_letters(tmp_path):
    content = 'label\ttext\nx\tsay "no\ny\tother\n'
    assert read(tmp_path, content, "t.tsv")[0] == ('say "no', ["x"])


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT.filter(str.strip)), min_size=1, max_size=5))
def test_what_csv_writes_is_read(tmp_path_factory, rows):
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["text", "label"])
    writer.writerows(rows)
    folder = tmp_path_factory.mktemp("csv")
    found = read(folder, out.getvalue(), "t.csv")
    assert [labels for _, labels in found] == [[label.strip()] for _, label in rows]
    # A line's end is a space, whatever it was.
    for (text, _), (expected, _) in zip(found, rows, strict=True):
        assert text.split() == expected.split()


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXT, max_size=8))
def test_pairs_and_their_words(texts):
    encoded = encode(
        from_pairs((text, ["a", "b", "a"]) for text in texts),
        lambda counted: counted.table.counts[: len(counted.table)].astype("int32"),
    )
    assert len(encoded.texts) == len(texts)
    lengths = [len(text.encode().split()) for text in texts]
    assert (encoded.texts.offsets[1:] - encoded.texts.offsets[:-1]).tolist() == lengths
    assert encoded.labels.ids.tolist() == [0, 1] * len(texts)


def test_many_lines_go_through_several_blocks(tmp_path, monkeypatch):
    from feedline.words.classify import encoded

    monkeypatch.setattr(encoded, "BLOCK", 50)
    pairs = [(f"w{i} w{i % 7} same", f"l{i % 3}") for i in range(500)]
    found = encode(
        from_pairs(pairs), lambda c: c.table.counts[: len(c.table)].astype("int32")
    )
    assert (found.texts.offsets[1:] - found.texts.offsets[:-1] == 3).all()
    assert found.texts.ids[2::3].tolist() == [500] * 500
    assert found.labels.ids.tolist() == [i % 3 for i in range(500)]


# Bad files --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.txt", "no labels\nat all\n", "nothing to learn from"),
        ("t.txt", "__label__ text\n", "line 1: the label has no name"),
        ("t.txt", b"\0\1\2binary", "binary file"),
        ("t.txt", "", "nothing to learn from"),
        ("t.csv", "", "nothing to learn from"),
        ("t.csv", "only one column\nyes\n", "no column of labels"),
        ("t.csv", "text\nyes\n", "no column of labels"),
        ("t.csv", "label,text\na,b,c\n", "line 2: 3 columns"),
        ("t.csv", "label,text\n,b\n", "line 2: the label is empty"),
        ("t.csv", 'label,text\na,"never closed\nb,c\n', "line 3: unexpected end"),
        ("t.csv", 'label,text\na,"x"y\n', "line 2: ',' expected after"),
        (
            "t.txt.gz",
            gzip.compress(b"__label__a b\n" * 99, mtime=0)[:-9],
            "damaged or cut off",
        ),
    ],
)
def test_what_is_wrong_is_told(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(CorpusError, match=message):
        classify.train(path)


def test_columns_that_are_not_there(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"label,text\na,b\n")
    with pytest.raises(CorpusError, match="no column 'mood'"):
        classify.train(tmp_path / "t.csv", label="mood")
    with pytest.raises(CorpusError, match="no column 9"):
        classify.train(tmp_path / "t.csv", text=9)
    with pytest.raises(CorpusError, match="'json' is not a format"):
        classify.train(tmp_path / "t.csv", format="json")
    with pytest.raises(CorpusError, match="there is no file"):
        classify.train(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([("a text", 5)], "example 1: the label is 5"),
        ([("a", "b"), "c"], "example 2 is c, no pair"),
        ([(5, "label")], "5 is a int, not a text"),
        ([("a", " ")], "label is empty"),
    ],
)
def test_pairs_that_are_none(data, message):
    with pytest.raises(CorpusError, match=message):
        classify.train(data)


def test_texts_without_a_label_are_left_out_and_counted(tmp_path, caplog):
    (tmp_path / "t.txt").write_bytes(b"__label__a x\nnone\n\n__label__b y\n")
    made = classify.train(tmp_path / "t.txt", epochs=1)
    assert made.about["texts"] == 2
    assert made.about["unlabelled"] == 2
    assert "2 texts have no label" in caplog.text


def test_huge_and_strange_texts(tmp_path):
    content = (
        b"__label__a " + b"x" * 3_000_000 + b" word\n"  # no word is so long
        b"__label__b \xff\xfe bad utf-8\n"
        b"__label__\xff " + b"many " * 300_000 + b"\n"
    )
    (tmp_path / "t.txt").write_bytes(content)
    made = classify.train(tmp_path / "t.txt", epochs=2, dim=4)
    assert sorted(made.labels) == ["a", "b", "\ufffd"]
    assert made.predict("many many")[0][0][0] in made.labels
    made.save(tmp_path / "c")
    assert classify.load(tmp_path / "c").labels == made.labels
