"""Edits of the plan made in the user's source: which call, and how it is written."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tests.report.repository import at, patched, repository

__all__ = ["patched", "repository"]

TF = "import tensorflow as tf\n"


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
            "ds = ds.batch(4)",
            at("prefetch-to-device", 2, op="batch", args={"device": "GPU:0"}),
            (
                'ds = ds.batch(4).apply(tf.data.experimental.copy_to_device("/GPU:0"))'
                ".prefetch(2)"
            ),
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
            at("vectorize-map", 2),
            (
                "ds = ds.batch(8).map(lambda *elements: tf.vectorized_map(lambda "
                "element: f(*element), elements), num_parallel_calls=tf.data.AUTOTUNE)"
            ),
        ),
        (
            "ds = ds.map(lambda x: x + 1, 2).shuffle(9).batch(8).prefetch(2)",
            at("vectorize-map", 2),
            (
                "ds = ds.shuffle(9).batch(8).map(lambda *elements: tf.vectorized_map("
                "lambda element: (lambda x: x + 1)(*element), elements), "
                "tf.data.AUTOTUNE).prefetch(2)"
            ),
        ),
        (
            "ds = ds.shuffle(99).map(f).map(g).batch(8)",
            at("cache-before-shuffle", 2, op="shuffle", args={"maps": 2}),
            "ds = ds.map(f).map(g).cache().shuffle(99).batch(8)",
        ),
        (
            "ds = ds.shuffle(99)\nds = ds.map(f)  # dear\nds = ds.map(g)\n",
            at("cache-before-shuffle", 2, op="shuffle", args={"maps": 1}),
            "ds = ds.map(f).cache()  # dear\nds = ds.shuffle(99)\nds = ds.map(g)\n",
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
            "def step(x):\n    return x",
            at("compile-step", 2, op="def"),
            "@tf.function\ndef step(x):\n    return x",
        ),
        (
            "def step(x):\n    return x",
            at("compile-step", 2, op="def", args={"fused": True}),
            "@tf.function(jit_compile=True)\ndef step(x):\n    return x",
        ),
        (
            "class T:\n    @timed\n    def step(self, x):\n        return x",
            at("compile-step", 3, op="def"),
            (
                "class T:\n    @timed\n    @tf.function\n"
                "    def step(self, x):\n        return x"
            ),
        ),
        (
            "@tf.function\ndef step(x):\n    return x",
            at("reduce-retracing", 2, op="def", args={"option": "reduce_retracing"}),
            "@tf.function(reduce_retracing=True)\ndef step(x):\n    return x",
        ),
        (
            (
                "class T:\n    @tf.function(  # slow\n        autograph=False,  # a\n"
                "    )\n    def f(self):\n        ..."
            ),
            at("reduce-retracing", 3, op="def", args={"option": "reduce_retracing"}),
            (
                "class T:\n    @tf.function(  # slow\n        autograph=False,  # a\n"
                "        reduce_retracing=True,\n    )\n    def f(self):\n        ..."
            ),
        ),
        (
            "if big:\n\tself.net.compile(\n\t\t'adam',\n\t)\nself.net.fit(ds)",
            at("jit-compile", 6, op="fit"),
            (
                "if big:\n\tself.net.compile(\n\t\t'adam',\n\t\tjit_compile=True,\n"
                "\t)\nself.net.fit(ds)"
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


def test_a_name_of_the_functions_own_hides_the_import(patched):
    source = (
        "import tensorflow as tf\ndef feed(ds, t):\n    tf = t\n    return ds.map(f)\n"
    )
    assert "num_parallel_calls=-1" in patched(source, at("parallel-map", 4))


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
        ("m.compile('a')\nm.fit(ds, validation_data=ds, validation_steps=3)\n", 2),
        ("m.compile('a')\nm.fit(ds)\nm.evaluate(ds, steps=3)\n", 2),
        ("m.compile('a')\nm.fit(ds)\nm.fit(ds, steps_per_epoch=3)\n", 2),
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
