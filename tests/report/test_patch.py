"""The plan as a diff of the user's source: what is edited, what is left alone, and
that git takes it."""

from __future__ import annotations

import ast
import builtins
import os
import random
import re
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedline.errors import FeedlineError
from feedline.fixes.fix import Edit
from feedline.job.pipeline import Function, Pipeline, Stage, Where
from feedline.report import patch
from feedline.report.patch import Place

TF = "import tensorflow as tf\n"


class Repository:
    """A folder under git with one script in it."""

    def __init__(self, root, name="train.py"):
        self.root = root
        self.file = root / name
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if not (root / ".git").exists():
            self.git("init", "--quiet")

    def git(self, *command, cwd=None):
        done = subprocess.run(
            ["git", *command], cwd=cwd or self.root, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def write(self, source):
        if isinstance(source, str):
            source = textwrap.dedent(source).encode()
        self.file.write_bytes(source)

    def place(self, fix, line, op="map", label="", args=None, **more):
        return Place(Edit(fix, 0, args or {}), str(self.file), line, op, label, **more)

    def apply(self, places):
        """Patch, and let git apply it."""
        self.made = patch.make(places, patch.root_of(places))
        if self.made.text:
            target = self.root / "fast.diff"
            patch.save(self.made.text, target)
            self.git("apply", "--whitespace=nowarn", "fast.diff")
            target.unlink()
        return self.file.read_bytes()

    def hows(self):
        return [outcome.how for outcome in self.made.outcomes]


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


@pytest.fixture
def patched(repository):
    """(source, places as tuples) -> the source after `git apply`"""

    def run(source, *given):
        repository.write(source)
        places = [
            repository.place(*one[:2], **one[2])
            if len(one) == 3
            else repository.place(*one)
            for one in given
        ]
        return repository.apply(places).decode()

    run.repository = repository
    return run


def at(fix, line, **more):
    return fix, line, more


# --------------------------------------------------------------- one edit each


@pytest.mark.parametrize(
    ("before", "place", "after"),
    [
        (
            "ds = ds.map(load).batch(32).repeat()",
            at("parallel-map", 2, label="map(load)"),
            "ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32).repeat()",
        ),
        (
            "ds = ds.map(map_func=lambda x: (x, 1))",
            at("parallel-map", 2, label="map(lambda)"),
            (
                "ds = ds.map(map_func=lambda x: (x, 1), "
                "num_parallel_calls=tf.data.AUTOTUNE)"
            ),
        ),
        (
            "ds = ds.map(load, 1).batch(4)",
            at("parallel-map", 2),
            "ds = ds.map(load, tf.data.AUTOTUNE).batch(4)",
        ),
        (
            "ds = ds.map(load, num_parallel_calls=None, name='a')",
            at("parallel-map", 2),
            "ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE, name='a')",
        ),
        (
            "ds = ds.map(load,)",
            at("parallel-map", 2),
            "ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE,)",
        ),
        (
            "ds = ds.map(\n    load  # slow\n)",
            at("parallel-map", 2),
            (
                "ds = ds.map(\n    load,  # slow\n"
                "    num_parallel_calls=tf.data.AUTOTUNE,\n)"
            ),
        ),
        (
            "ds = ds.batch(32, True)",
            at("parallel-batch", 2, op="batch"),
            "ds = ds.batch(32, True, num_parallel_calls=tf.data.AUTOTUNE)",
        ),
        (
            "model.fit(ds.batch(32), epochs=3)",
            at("prefetch", 2, op="batch"),
            "model.fit(ds.batch(32).prefetch(tf.data.AUTOTUNE), epochs=3)",
        ),
        (
            "ds = ds.map(load).batch(32)",
            at("cache", 2),
            "ds = ds.map(load).cache().batch(32)",
        ),
        (
            "ds = ds.interleave(read, 4)",
            at("interleave", 2, op="interleave", args={"way": "turns"}),
            "ds = ds.interleave(read, 4, num_parallel_calls=tf.data.AUTOTUNE)",
        ),
        (
            "ds = tf.data.TFRecordDataset(files)",
            at("interleave", 2, op="tfrecord", args={"way": "mixed"}),
            "ds = tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)",
        ),
        (
            "ds = ds.map(load, num_parallel_calls=4)",
            at("unordered", 2),
            "ds = ds.map(load, num_parallel_calls=4, deterministic=False)",
        ),
        (
            "ds = ds.map(f).batch(8)",
            at("vectorize-map", 2, args={"as_is": True}),
            "ds = ds.batch(8).map(f, num_parallel_calls=tf.data.AUTOTUNE)",
        ),
        (
            "ds = ds.map(f).shuffle(99)  # mixed",
            at("shuffle-ids", 2, op="shuffle"),
            "ds = ds.shuffle(99).map(f)  # mixed",
        ),
        (
            "# read\nds = ds.map(f)  # a\n# mix\nds = ds.shuffle(99)  # b\n",
            at("shuffle-ids", 5, op="shuffle"),
            "# mix\nds = ds.shuffle(99)  # b\n# read\nds = ds.map(f)  # a\n",
        ),
        (
            "ds = ds.map(f)\nds = ds.shuffle(99).batch(2)",
            at("shuffle-ids", 3, op="shuffle"),
            "ds = ds.shuffle(99)\nds = ds.map(f).batch(2)",
        ),
        (
            "ds = ds.map(lambda x, y: (load(x), y)).filter(lambda x, y: y < 3)",
            at("filter-first", 2, op="filter"),
            "ds = ds.filter(lambda x, y: y < 3).map(lambda x, y: (load(x), y))",
        ),
        (
            "model.compile('adam')\nmodel.fit(ds)",
            at("steps-per-execution", 3, op="fit", args={"steps": 16}),
            "model.compile('adam', steps_per_execution=16)\nmodel.fit(ds)",
        ),
        (
            "model.compile('adam', run_eagerly=True)\nmodel.fit(ds)",
            at("compile-step", 3, op="fit"),
            "model.compile('adam', run_eagerly=False)\nmodel.fit(ds)",
        ),
        (
            "m.compile('adam')\nm.run_eagerly = True\nm.fit(ds)",
            at("compile-step", 4, op="fit"),
            "m.compile('adam')\nm.run_eagerly = False\nm.fit(ds)",
        ),
        (
            "if big:\n\tself.net.compile(\n\t\t'adam',\n\t)\nself.net.fit(ds)",
            at("jit-compile", 6, op="fit"),
            (
                "if big:\n\tself.net.compile(\n\t\t'adam',\n\t\tjit_compile=True,\n\t)\n"
                "self.net.fit(ds)"
            ),
        ),
    ],
)
def test_edit(patched, before, place, after):
    assert patched(TF + before, place) == TF + after
    assert patched.repository.hows() == ["edit"]


def test_chain_on_several_lines_keeps_its_comments(patched):
    source = """\
        import tensorflow as tf

        ds = (
            tf.data.Dataset.list_files("x")  # names
            .map(load)  # bytes
            .shuffle(100)  # mix
            .batch(32)
        )
        """
    places = [
        at("cache", 4, op="list_files"),
        at("parallel-map", 5),
        at("shuffle-ids", 6, op="shuffle"),
        at("prefetch", 7, op="batch"),
    ]
    assert patched(source, *places) == textwrap.dedent(
        """\
        import tensorflow as tf

        ds = (
            tf.data.Dataset.list_files("x")  # names
            .cache()
            .shuffle(100)  # mix
            .map(load, num_parallel_calls=tf.data.AUTOTUNE)  # bytes
            .batch(32)
            .prefetch(tf.data.AUTOTUNE)
        )
        """
    )


def test_row_sparse_is_imported_and_follows_compile(patched):
    source = '''\
        """A script."""
        from __future__ import annotations
        import tensorflow as tf

        def main():
            model = build()
            model.compile("adam", loss="mse")  # as ever
            model.fit(ds)
        '''
    place = at("row-sparse-embedding", 8, op="fit", args={"lazy": True})
    after = patched(source, place)
    assert after.splitlines()[2:4] == [
        "import tensorflow as tf",
        "from feedline.rows import install as row_sparse",
    ]
    assert after.splitlines()[7:9] == [
        '    model.compile("adam", loss="mse")  # as ever',
        "    row_sparse(model, lazy=True)",
    ]
    again = at("row-sparse-embedding", 10, op="fit", args={"lazy": True})
    assert patched(after, again) == after


def test_row_sparse_beside_other_statements(patched):
    source = '"""Doc."""\nmodel.compile("sgd"); row_sparse = 1; model.fit(ds)\n'
    place = at("row-sparse-embedding", 2, op="fit", args={"lazy": False})
    assert patched(source, place) == (
        '"""Doc."""\nfrom feedline.rows import install as feedline_row_sparse\n'
        'model.compile("sgd"); feedline_row_sparse(model, lazy=False); '
        "row_sparse = 1; model.fit(ds)\n"
    )


# ------------------------------------------------------- what AUTOTUNE is called


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("import tensorflow as tf", "tf.data.AUTOTUNE"),
        ("import tensorflow", "tensorflow.data.AUTOTUNE"),
        ("import tensorflow.keras", "tensorflow.data.AUTOTUNE"),
        ("import tensorflow.compat.v2 as tf2", "tf2.data.AUTOTUNE"),
        ("from tensorflow import data", "data.AUTOTUNE"),
        ("from tensorflow import data as d, keras", "d.AUTOTUNE"),
        ("from tensorflow.data import AUTOTUNE as A", "A"),
        ("import tensorflow as tf\nTUNE = tf.data.AUTOTUNE", "TUNE"),
        ("if TYPE_CHECKING:\n    import tensorflow as tf", "-1"),
        ("def other():\n    import tensorflow as tf", "-1"),
        ("from tensorflow.data import Dataset", "-1"),
        ("from . import tensorflow", "-1"),
        ("", "-1"),
    ],
)
def test_autotune_by_the_name_that_the_file_has(patched, imports, name):
    source = f"{imports}\nds = ds.map(f)\n"
    line = source.count("\n")
    after = patched(source, at("parallel-map", line))
    assert after == f"{imports}\nds = ds.map(f, num_parallel_calls={name})\n"


def test_imports_of_the_function_count(patched):
    source = "def feed(ds):\n    import tensorflow as t\n    return ds.map(f)\n"
    assert "=t.data.AUTOTUNE" in patched(source, at("parallel-map", 3))


def test_a_parameter_hides_the_import(patched):
    source = "import tensorflow as tf\ndef feed(ds, tf):\n    return ds.map(f)\n"
    assert "num_parallel_calls=-1" in patched(source, at("parallel-map", 3))


# ------------------------------------------------------------ which call is meant


def test_of_several_maps_the_right_one(patched):
    source = "ds = ds.map(f).map(g).map(f)\n"
    after = patched(source, at("parallel-map", 1, label="map(f)", nth=2, of=3))
    assert after == "ds = ds.map(f).map(g).map(f, num_parallel_calls=-1)\n"
    after = patched(source, at("parallel-map", 1, label="map(g)", nth=0, of=1))
    assert after == "ds = ds.map(f).map(g, num_parallel_calls=-1).map(f)\n"


def test_a_map_inside_a_lambda_is_another_pipeline(patched):
    source = "ds = ds.interleave(lambda x: open(x).map(f)).map(lambda y: y)\n"
    after = patched(source, at("parallel-map", 1, label="map(g)"))
    assert after.endswith(".map(lambda y: y, num_parallel_calls=-1)\n")


def test_one_call_for_several_stages_is_edited_only_for_all(patched):
    source = "for f in steps:\n    ds = ds.map(f)\n"
    one = at("parallel-map", 2, label="map(a)", nth=0, of=2)
    other = at("parallel-map", 2, label="map(b)", nth=1, of=2)
    assert "num_parallel_calls=-1" in patched(source, one, other)
    after = patched(source, one)
    assert "    ds = ds.map(f)\n" in after
    assert patched.repository.hows() == ["comment"]


def test_the_maps_of_a_library_do_not_count(patched):
    source = "ds = images(folder).map(f)\n"
    place = at("parallel-map", 1, label="map(f)", nth=2, of=3)
    assert ".map(f, num_parallel_calls=-1)" in patched(source, place)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        # compiled under another name, or several could be meant
        ("net.compile('adam')\nmodel.fit(ds)\n", 2),
        ("if a:\n  m.compile('a')\nelse:\n  m.compile('b')\nm.fit(ds)\n", 5),
        ("build().fit(ds)\n", 1),
        ("m.compile(**how)\nm.fit(ds)\n", 2),
        (
            (
                "class M(Model):\n  def compile(self, o):\n    pass\n"
                "m = M()\nm.compile('a')\nm.fit(ds)\n"
            ),
            6,
        ),
    ],
)
def test_without_the_right_compile_a_comment(patched, source, line):
    place = at("steps-per-execution", line, op="fit", args={"steps": 16})
    after = patched(source, place)
    assert patched.repository.hows() == ["comment"]
    assert "steps_per_execution=16" in after
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(source))


def test_the_compile_nearest_to_this_fit(patched):
    source = "m.compile('a')\nm.fit(x)\nm.compile('b')\nm.fit(y)\n"
    place = at("jit-compile", 4, op="fit")
    assert "m.compile('b', jit_compile=True)" in patched(source, place)
    assert "m.compile('a', jit_compile=True)" in patched(
        source, at("jit-compile", 2, op="fit")
    )


def test_a_compile_in_another_function_under_the_same_name(patched):
    source = "def build():\n    m.compile('a')\n    return m\nm = build()\nm.fit(x)\n"
    assert "m.compile('a', jit_compile=True)" in patched(
        source, at("jit-compile", 5, op="fit")
    )


# -------------------------------------------------------------------- comments


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (at("parallel-map", 2, args={"split": True}), "under a seed"),
        (at("cache", 2, args={"on_disk": True}), ".cache(FILE)"),
        (at("vectorize-map", 2, label="map(f)"), ".map(f, num_parallel_calls=tf."),
        (at("interleave", 2, op="tfrecord", args={"way": "ahead"}), "the next files"),
        (at("scaled-decode", 2, label="map(f)"), "tf.io.decode_jpeg"),
        (at("worker-processes", 2, args={"workers": 2}), "2 worker processes"),
        (at("mixed-precision", 2, op="fit"), "set_global_policy"),
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


# ------------------------------------------------------------ files and their form


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_form_is_kept(repository, newline, end, encoding):
    text = "# -*- coding: latin-1 -*-\n" if encoding == "latin-1" else ""
    text += "name = 'Köln'  # größer\nif name:\n\tds = ds.map(\n\t\tf\n\t)" + end
    wanted = text.replace("f\n\t)", "f,\n\t\tnum_parallel_calls=-1,\n\t)")
    line = text[: text.index("ds.map")].count("\n") + 1

    def encoded(text):
        return text.replace("\n", newline).encode(encoding)

    repository.write(encoded(text))
    places = [repository.place("parallel-map", line)]
    assert repository.apply(places) == encoded(wanted)
    assert repository.apply(places) == encoded(wanted)
    assert repository.made.text == ""


@pytest.mark.parametrize("name", ["sub/train.py", "my job/träin.py", 'a"b\\c.py'])
def test_names_from_the_root_of_the_work_tree(tmp_path, monkeypatch, name):
    if os.name == "nt" and '"' in name:
        pytest.skip("no such names here")
    repository = Repository(tmp_path, name)
    repository.write("ds = ds.map(f)\n")
    monkeypatch.chdir(repository.file.parent)
    after = repository.apply([repository.place("parallel-map", 1)])
    assert after == b"ds = ds.map(f, num_parallel_calls=-1)\n"


def test_names_from_the_current_directory_outside_of_git(tmp_path, monkeypatch):
    script = tmp_path / "here" / "job" / "train.py"
    script.parent.mkdir(parents=True)
    script.write_text("ds = ds.map(f)\n")
    place = Place(Edit("parallel-map", 0), str(script), 1, "map")
    for cwd, name in [(tmp_path / "here", "job/train.py"), (script.parent, "train.py")]:
        monkeypatch.chdir(cwd)
        root = patch.root_of([place])
        if any((up / ".git").exists() for up in (tmp_path, *tmp_path.parents)):
            pytest.skip("the temporary folder is under git")
        assert patch.diff([place], root).startswith(f"diff --git a/{name} b/{name}\n")
    # Not below the current directory: from its own folder.
    assert patch.root_of([place], tmp_path / "elsewhere") == script.parent.resolve()


def test_several_files_in_one_patch(repository):
    repository.write("ds = ds.map(f)\n")
    other = repository.root / "data.py"
    other.write_text("def feed(ds):\n    return ds.batch(2)\n")
    places = [
        repository.place("parallel-map", 1),
        Place(Edit("prefetch"), str(other), 2, "batch"),
        repository.place("cache", 1),
    ]
    assert repository.apply(places) == (
        b"ds = ds.map(f, num_parallel_calls=-1).cache()\n"
    )
    assert other.read_text() == "def feed(ds):\n    return ds.batch(2).prefetch(-1)\n"
    assert [o.place for o in repository.made.outcomes] == places


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("venv/lib/site-packages/kit/data.py", b"ds = ds.map(f)\n"),
        ("lib/python3/dist-packages/kit.py", b"ds = ds.map(f)\n"),
        ("broken.py", b"ds = ds.map(f\n"),
        ("wrong.py", b"ds = ds.map('\xff')\n"),
        ("nul.py", b"ds = ds.map(f)\0\n"),
        ("short.py", b""),
        ("missing.py", None),
    ],
)
def test_files_that_are_left_alone(tmp_path, name, source):
    repository = Repository(tmp_path, name)
    if source is not None:
        repository.write(source)
    made = patch.make([repository.place("parallel-map", 1, code="x")], tmp_path)
    assert made.text == ""
    assert [outcome.how for outcome in made.left] == ["left"]
    assert made.left[0].reason


def test_files_outside_of_the_project_are_left_alone(tmp_path):
    (tmp_path / "project").mkdir()
    script = tmp_path / "train.py"
    script.write_text("ds = ds.map(f)\n")
    place = Place(Edit("parallel-map", 0), str(script), 1, "map")
    assert "outside" in patch.make([place], tmp_path / "project").left[0].reason
    place = Place(Edit("parallel-map", 0), textwrap.__file__, 1, "map")
    assert patch.make([place], tmp_path.anchor and tmp_path).text == ""


def test_a_file_that_has_changed_is_left_alone(repository):
    repository.write("import os\nds = ds.map(f)\n")
    same = repository.place("parallel-map", 2, code="ds = ds.map(f)")
    old = repository.place("parallel-map", 1, code="ds = ds.map(f)")
    assert patch.make([same], repository.root).text
    assert patch.make([same, old], repository.root).text == ""
    assert patch.make([repository.place("cache", 9)], repository.root).text == ""


def test_save_is_whole_or_not_at_all(tmp_path):
    patch.save("--- \udce9\r\n", tmp_path / "a.diff")
    assert (tmp_path / "a.diff").read_bytes() == b"--- \xe9\r\n"
    with pytest.raises(FeedlineError, match="cannot write"):
        patch.save("", tmp_path / "none" / "a.diff")
    assert [path.name for path in tmp_path.iterdir()] == ["a.diff"]


# -------------------------------------------------------------------- the places


def test_places_of_a_pipeline(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def where(line):
        return Where("train.py", line, "x")

    source = Stage("range", where=where(1))
    f = Stage("map", (source,), {}, (Function("f"),), where=where(2))
    g = Stage("map", (f,), {}, (Function("g"),), where=where(2))
    shuffle = Stage("shuffle", (g,), {"buffer_size": 9}, where=where(3))
    batch = Stage("batch", (shuffle,), {"num_parallel_calls": 2}, where=where(4))
    hidden = Stage("repeat", (batch,))
    pipeline = Pipeline(hidden).numbered()
    edits = [
        Edit("parallel-map", 2),
        Edit("shuffle-ids", 3),
        Edit("unordered"),
        Edit("prefetch"),
        Edit("jit-compile"),
    ]
    found = patch.places(pipeline, edits, Where("train.py", 9))
    assert [(p.edit.fix, p.line, p.op, p.label, p.nth, p.of) for p in found] == [
        ("parallel-map", 2, "map", "map(g)", 1, 2),
        ("shuffle-ids", 3, "shuffle", "shuffle(9)", 0, 1),
        ("unordered", 2, "map", "map(g)", 1, 2),
        ("unordered", 4, "batch", "batch()", 0, 1),
        ("prefetch", 9, "", "repeat()", 0, 1),
        ("jit-compile", 9, "fit", "fit()", 0, 1),
    ]
    assert found[1].over == 2
    assert {p.file for p in found} == {str(tmp_path / "train.py")}
    assert all(Place.from_dict(p.to_dict()) == p for p in found)
    assert patch.places(pipeline, [Edit("jit-compile")], None) == ()


# --------------------------------------------------- any style, any set of edits


class Recorder:
    """Stands for a dataset: remembers the calls and the lines they came from."""

    def __init__(self, calls=()):
        self.calls = calls

    def __getattr__(self, name):
        def method(*args, **kwargs):
            line = sys._getframe(1).f_lineno
            return Recorder((*self.calls, (name, args, kwargs, line)))

        return method


def f(x):
    return x


def g(x):
    return x


def recorded(source):
    """The calls that a source makes on its dataset."""
    fake = SimpleNamespace(data=SimpleNamespace(AUTOTUNE=-1))
    known = {**vars(builtins), "__import__": lambda *_: fake}
    scope = {"f": f, "g": g, "start": Recorder(), "__builtins__": known}
    exec(compile(source, "train.py", "exec"), scope)
    return scope["ds"].calls


LINKS = st.sampled_from(
    ["map(f)", "map(g)", "map(lambda x: x)", "shuffle(9)", "batch(4)", "repeat()"]
)
STYLES = ["line", "brackets", "backslash", "rebind", "hanging", "function", "dangling"]


def written(links, style, random_):
    if style == "line":
        body = "ds = start." + ".".join(links)
    elif style == "brackets":
        lines = [
            f"    .{one}{random_.choice(['', f'  # c{n}'])}"
            for n, one in enumerate(links)
        ]
        body = "ds = (\n    start\n" + "\n".join(lines) + "\n)"
    elif style == "backslash":
        body = "ds = start \\\n    ." + " \\\n    .".join(links)
    elif style == "hanging":
        opened = [
            one.replace("(", "(\n    ", 1) if one[-2] != "(" else one for one in links
        ]
        body = "ds = start." + ".".join(
            one[:-1] + random_.choice([",\n)", "\n)"]) if "\n" in one else one
            for one in opened
        )
    elif style == "dangling":
        body = "ds = (start.\n    " + ".\n    ".join(links) + ")"
    elif style == "function":
        body = "def feed(ds):\n\treturn ds." + ".".join(links) + "\nds = feed(start)"
    else:
        body = "ds = start"
        for n, one in enumerate(links):
            again = random_.choice([f"\n# c{n}\nds = ds", "\nds = ds", ""])
            body += (again or ("\nds = ds" if n == 0 else "")) + f".{one}"
    return f"import tensorflow as tf\n# größer\n{body}\n"


def modelled(calls, edits, hows):
    """What the edits mean, on a list."""
    chain = [[n, *call[:2], dict(call[2])] for n, call in enumerate(calls)]

    def place(number):
        return next(n for n, link in enumerate(chain) if link[0] == number)

    for edit, how in zip(edits, hows, strict=True):
        number = edit.stage
        if edit.fix in ("parallel-map", "parallel-batch"):
            chain[place(number)][3]["num_parallel_calls"] = -1
        elif edit.fix == "prefetch":
            chain.append([None, "prefetch", (-1,), {}])
        elif edit.fix == "cache":
            after = place(number) + 1
            if after == len(chain) or chain[after][1] != "cache":
                chain.insert(after, [None, "cache", (), {}])
        elif edit.fix == "shuffle-ids":
            here = place(number)
            moved = False
            while here > 0 and chain[here - 1][1] in ("map", "prefetch"):
                chain[here - 1 : here + 1] = chain[here], chain[here - 1]
                here, moved = here - 1, True
            assert how == ("edit" if moved else "comment")
            continue
        elif edit.fix == "vectorize-map":
            here = place(number)
            adjacent = here + 1 < len(chain) and chain[here + 1][1] == "batch"
            assert how == ("edit" if adjacent else "comment")
            if adjacent:
                chain[here : here + 2] = chain[here + 1], chain[here]
                chain[here + 1][3]["num_parallel_calls"] = -1
            continue
        assert how == "edit", edit
    return [tuple(link[1:]) for link in chain]


def plain(calls):
    def value(one):
        return getattr(one, "__name__", one)

    return [
        (name, tuple(map(value, args)), dict(kwargs)) for name, args, kwargs in calls
    ]


@settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(LINKS, min_size=1, max_size=6),
    st.sampled_from(STYLES),
    st.lists(
        st.tuples(st.sampled_from(["parallel", "cache", "move"]), st.integers(0, 5)),
        max_size=5,
    ),
    st.sampled_from([None, 0, 3]),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(0, 99),
)
def test_a_patched_source_does_what_the_plan_does(
    repository, links, style, wishes, prefetch, newline, seed
):
    source = written(links, style, random.Random(seed)).replace("\n", newline)
    repository.write(source.encode())
    calls = recorded(source)
    assert [call[0] for call in calls] == [one.split("(")[0] for one in links]
    edits = wanted(links, wishes)
    if prefetch is not None:
        edits.insert(min(prefetch, len(edits)), Edit("prefetch"))
    found = patch.places(pipeline_of(calls, repository.file), edits, None)
    repository.apply(found)
    after = repository.file.read_bytes().decode()
    done = [call[:3] for call in recorded(after)]
    assert plain(done) == plain(modelled(calls, edits, repository.hows()))
    for comment in re.findall(r"# c\d", source):
        assert comment in after
    assert after.count("\r\n") == (after.count("\n") if newline == "\r\n" else 0)


def wanted(links, wishes):
    edits = []
    for kind, number in wishes:
        name = links[number % len(links)].split("(")[0]
        stage = number % len(links)
        if kind == "cache":
            edits.append(Edit("cache", stage, {"on_disk": False}))
        elif kind == "parallel" and name in ("map", "batch"):
            edits.append(Edit(f"parallel-{name}", stage))
        elif kind == "move" and name == "shuffle":
            edits.append(Edit("shuffle-ids", stage))
        elif kind == "move" and name == "map":
            edits.append(Edit("vectorize-map", stage, {"as_is": True}))
    return [edit for n, edit in enumerate(edits) if edit not in edits[:n]]


def pipeline_of(calls, file):
    stage = Stage("range", where=None)
    for name, args, _, line in calls:
        functions = [
            Function(one.__name__.strip("<>")) for one in args if callable(one)
        ]
        values = {"buffer_size": 9} if name == "shuffle" else {}
        stage = Stage(
            name, (stage,), values, tuple(functions), where=Where(str(file), line)
        )
    pipeline = Pipeline(stage).numbered()
    # The source has number 0 there, the first call has it in the test.
    stages = list(pipeline.stages())
    for one in stages:
        object.__setattr__(one, "number", one.number - 1)
    return pipeline
