"""A SavedModel of TensorFlow: words in, vectors out, the words inside.

    model = tf.saved_model.load(path)
    model.vectors(tf.constant(["king"]))           # also the serving signature

It needs TensorFlow alone, in Python, C++, Java or TensorFlow Serving. Subwords
are kept: a word that was never seen has a vector, as in `Vectors`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from feedline.errors import OutputExists, TensorFlowMissing, VectorsError
from feedline.files.whole import replacing_folder
from feedline.words.formats.format import Format
from feedline.words.formats.shared import target
from feedline.words.vectors.vectors import Vectors

MARK = "saved_model.pb"


def check(path: Path, *, force: bool) -> None:
    target.check_folder(path)
    if not path.exists():
        return
    if not path.is_dir():
        raise OutputExists(f"{path} is a file; a SavedModel is a directory")
    if not (path / MARK).is_file() and any(path.iterdir()):
        raise OutputExists(
            f"{path} holds something else than a SavedModel: give the name of a new "
            "directory"
        )
    if not force and (path / MARK).is_file():
        raise OutputExists(
            f"{path} holds a SavedModel already; give another name, or --force "
            "(force=True) to overwrite it"
        )


def write(vectors: Vectors, path: Path) -> None:
    try:
        from feedline.words.vectors.graph import Lookup
    except ImportError:
        raise TensorFlowMissing from None
    lookup = Lookup(vectors)
    save(lookup, lookup.vectors, path)


def save(module: Any, signature: Any, path: Path) -> None:
    """Write a module of TensorFlow's, whole or not at all; `check` comes before."""
    import tensorflow as tf

    try:
        with replacing_folder(path) as part:
            tf.saved_model.save(module, str(part), signatures=signature)
    except (OSError, tf.errors.OpError) as error:
        raise VectorsError(f"cannot write {path}: {error}") from None


FORMAT = Format(
    "savedmodel",
    used_by="tf.saved_model.load: words to vectors",
    write=write,
    check=check,
    folder=True,
    subwords=True,
)
