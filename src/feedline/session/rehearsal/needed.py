"""Does the source of a script show that it must be rehearsed? It is read, never run.

Only the file that is started is looked at: what stands in other modules shows when the
script meets it, and then it goes on unfixed with one line. A rehearsal costs a start of
the script, so a script that only calls `Model.fit` on data of TensorFlow's has none.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder

from feedline.job.tfdata import ops

_CALLED = {
    "GradientTape": "takes gradients in a loop of its own",
    ops.FROM_GENERATOR: "reads data from a Python generator",
    "py_function": "calls Python for each element of its data",
    "numpy_function": "calls Python for each element of its data",
    "run_functions_eagerly": "runs its functions eagerly",
}
_BASES = {"PyDataset", "Sequence"}


def by_source(target: list[str], *, module: bool) -> str:
    """What in it asks for one, as "train.py:12 ..."; empty where nothing does."""
    path = _module_file(target[0]) if module else _script_file(target[0])
    if path is None:
        return ""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read(), path)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""  # whoever runs it says so better
    found = min(_found(tree), default=None)
    return "" if found is None else f"{os.path.basename(path)}:{found[0]} {found[1]}"


def _found(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        name = getattr(node, "attr", None) or getattr(node, "id", None)
        if name in _CALLED and isinstance(node, ast.Attribute | ast.Name):
            yield node.lineno, _CALLED[name]
        elif isinstance(node, ast.ClassDef):
            yield from _in_class(node)
        elif isinstance(node, ast.keyword | ast.Assign) and _sets_eager(node):
            yield node.lineno, "runs its steps eagerly"


def _in_class(node: ast.ClassDef) -> Iterator[tuple[int, str]]:
    bases = {getattr(b, "attr", None) or getattr(b, "id", "") for b in node.bases}
    if bases & _BASES:
        yield node.lineno, "makes its batches in Python"
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "train_step":
            yield each.lineno, "has a training step of its own"


def _sets_eager(node: ast.keyword | ast.Assign) -> bool:
    """`compile(run_eagerly=...)` or `model.run_eagerly = ...`, unless it is False."""
    if isinstance(node, ast.keyword):
        names = {node.arg}
    else:
        names = {getattr(each, "attr", None) for each in node.targets}
    return "run_eagerly" in names and not _is_false(node.value)


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _script_file(given: str) -> str | None:
    path = os.path.join(given, "__main__.py") if os.path.isdir(given) else given
    return path if os.path.isfile(path) else None


def _module_file(name: str) -> str | None:
    """Found as Python finds it, but no package on the way is imported."""
    path: list[str] | None = [os.getcwd(), *sys.path]
    spec: ModuleSpec | None = None
    parts = name.split(".")
    while parts:
        spec = PathFinder.find_spec(parts.pop(0), path)
        if spec is None:
            return None
        folders = spec.submodule_search_locations
        path = list(folders) if folders is not None else None
        if path is not None and not parts:
            parts = ["__main__"]
    return spec.origin if spec is not None and spec.has_location else None
