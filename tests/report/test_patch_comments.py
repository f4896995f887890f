"""What a patch says where it cannot edit."""

from __future__ import annotations

import ast
import re

import pytest

from tests.report.repository import at, patched, repository

__all__ = ["patched", "repository"]

TF = "import tensorflow as tf\n"


# -------------------------------------------------------------------- comments


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (at("parallel-map", 2, args={"split": True}), "under a seed"),
        (at("cache", 2, args={"on_disk": True}), ".cache(FILE)"),
        (at("vectorize-map", 2, label="map(f)"), ".map(f, num_parallel_calls=tf."),
        (at("cache-before-shuffle", 2, args={"maps": 2}), "after the 2 maps that"),
        (at("interleave", 2, op="tfrecord", args={"way": "ahead"}), "the next files"),
        (at("scaled-decode", 2, label="map(f)"), "tf.io.decode_jpeg"),
        (at("cache-undrawn", 2, label="map(f)"), "before its first random draw"),
        (at("crop-first", 2, label="map(f)"), "after the crop"),
        (at("cropped-decode", 2, label="map(f)"), "decode_and_crop_jpeg"),
        (at("keep-results", 2, label="from_generator(f)"), "in every epoch"),
        (at("worker-processes", 2, args={"workers": 2}), "2 worker processes"),
        (at("mixed-precision", 2, op="fit"), "set_global_policy"),
        (at("cast-on-device", 2, label="map(f)"), "at the start of the model"),
        (at("steps-per-execution", 2, op="fit"), "steps_per_execution"),
        (at("steps-per-execution", 2, op="for", args={"steps": 64}), "64 steps per"),
        (at("filter-first", 2, op="filter", label="filter(g)"), "filter(g)"),
        (at("unordered", 2), "deterministic=False"),
        (at("parallel-map", 2, op="", label="map(h)"), "give map(h)"),
        (at("of-another-version", 2, label="map(f)"), "feedline run"),
    ],
)
def test_what_cannot_be_edited_is_a_comment(patched, place, words):
    source = TF + "ds = (ds.map(f)\n  .filter(g))\n"
    after = patched(source, place)
    assert patched.repository.hows() == ["comment"]
    assert after.replace("\n#", " #").count("# feedline: ") == 1
    told = " ".join(re.findall(r"^#\s*(.*)$", after, re.MULTILINE))
    assert words in told
    assert [line for line in after.splitlines() if not line.startswith("#")] == (
        source.splitlines()
    )
    # The same once more adds nothing.
    number = after.splitlines().index("ds = (ds.map(f)") + 1
    assert patched(after, (place[0], number, place[2])) == after


def test_a_filter_stays_where_it_cannot_be_seen_to_be_safe(patched):
    sources = [
        "ds = ds.map(f).filter(lambda x, y: y)",
        (
            "def f(x, y):\n  y = y + 1\n  return x, y\n"
            "ds = ds.map(f).filter(lambda x, y: y)"
        ),
        "ds = ds.map(lambda x, y: (y, x)).filter(lambda x, y: y)",
        "ds = ds.map(lambda x: (x, 1)).filter(lambda x, y: y)",
        "ds = ds.map(lambda x, y: (x, y)).batch(2).filter(lambda x, y: y)",
    ]
    for source in sources:
        patched(source, at("filter-first", source.count("\n") + 1, op="filter"))
        assert patched.repository.hows() == ["comment"], source


def test_a_comment_never_lands_in_a_string(patched):
    source = 'a = """\nb\n"""; ds = ds.map(f, *more)\n'
    after = patched(source, at("parallel-map", 3))
    assert after.startswith("# feedline: parallel-map")
    assert after.endswith(source)


def test_a_label_is_data(patched):
    label = "map(é\n\x1b[31m\nimport os)"
    after = patched("ds = ds.map(*f)\n", at("parallel-map", 1, label=label))
    assert after.isascii()
    assert len(ast.parse(after).body) == 1


def test_a_comment_in_a_block_has_its_indent(patched):
    source = "def feed():\n\tif x: ds = ds.map(*f)\n"
    after = patched(source, at("parallel-map", 2))
    assert after.startswith("def feed():\n\t# feedline: parallel-map: ")


def test_every_fix_has_words_of_its_own():
    from feedline import fixes

    for name, fix in fixes.all().items():
        applied = fix.apply is not None or fix.install is not None
        said = fix.patch.comment is not fixes.Patch().comment
        assert said or not applied, name


def test_an_edit_that_fails_costs_only_itself(patched, caplog):
    source = "m.compile('a')\nm.fit(ds.map(f))\n"
    broken = at("steps-per-execution", 2, op="fit")  # says not how many
    after = patched(source, broken, at("parallel-map", 2))
    assert patched.repository.hows() == ["comment", "edit"]
    assert "m.fit(ds.map(f, num_parallel_calls=-1))" in after
    assert "failed" in caplog.text
