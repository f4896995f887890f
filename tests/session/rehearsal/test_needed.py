"""Which scripts are rehearsed: by their source, which is not run."""

from __future__ import annotations

import pytest

from feedline.session.rehearsal.needed import by_source

NEEDED = {
    "with tf.GradientTape() as tape: pass": "takes gradients",
    "from tensorflow import GradientTape\nwith GradientTape(): pass": "takes gradients",
    "class A(keras.Model):\n    def train_step(self, data): pass": "a training step",
    "model.compile('sgd', run_eagerly=True)": "eagerly",
    "model.compile('sgd', run_eagerly=args.eager)": "eagerly",
    "model.run_eagerly = True": "eagerly",
    "tf.config.run_functions_eagerly(True)": "eagerly",
    "ds = tf.data.Dataset.from_generator(f)": "generator",
    "ds = ds.map(lambda x: tf.py_function(f, [x], tf.int32))": "calls Python",
    "class A(keras.utils.PyDataset): pass": "batches in Python",
    "class A(Sequence): pass": "batches in Python",
}
NOT_NEEDED = [
    "model.fit(ds)",
    "model.compile('sgd', run_eagerly=False)",
    "# tf.GradientTape()\nprint('GradientTape')",
    "class A(keras.Model):\n    def call(self, x): pass",
    "def train_step(x): pass",
    "def f(:",
    "",
]


@pytest.mark.parametrize("text", NEEDED)
def test_what_cannot_be_measured_in_passing(tmp_path, text):
    path = tmp_path / "train.py"
    path.write_text(f"raise SystemExit('it was run')\n{text}\n")
    found = by_source([str(path)], module=False)
    assert found.startswith("train.py:")
    assert NEEDED[text] in found


@pytest.mark.parametrize("text", NOT_NEEDED)
def test_everything_else_starts_at_once(tmp_path, text):
    path = tmp_path / "train.py"
    path.write_text(text)
    assert by_source([str(path)], module=False) == ""


def test_the_first_line_of_all_is_named(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("\n\nx = tf.py_function\ny = tf.GradientTape\n")
    assert by_source([str(path)], module=False).startswith("train.py:3 ")


def test_modules_are_found_and_not_imported(tmp_path, monkeypatch):
    package = tmp_path / "some_package_of_a_test" / "inner"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("raise SystemExit('imported')")
    (package / "train.py").write_text("tf.GradientTape()")
    (package / "__main__.py").write_text("\ntf.GradientTape()")
    monkeypatch.chdir(tmp_path)
    name = "some_package_of_a_test.inner"
    assert by_source([f"{name}.train"], module=True).startswith("train.py:1 ")
    assert by_source([name], module=True).startswith("__main__.py:2 ")
    assert by_source([f"{name}.none"], module=True) == ""
    assert by_source(["none_of_that_name.x"], module=True) == ""


def test_what_cannot_be_read_is_left_to_whoever_runs_it(tmp_path):
    (tmp_path / "x.py").write_bytes(b"\0\xff")
    assert by_source([str(tmp_path / "x.py")], module=False) == ""
    assert by_source([str(tmp_path)], module=False) == ""
    assert by_source([str(tmp_path / "none.py")], module=False) == ""
