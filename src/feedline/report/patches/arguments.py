"""A keyword argument set in a call, in the style in which the call is written."""

from __future__ import annotations

import libcst as cst

from feedline.fixes.patching import CannotEdit
from feedline.job.tfdata import ops
from feedline.report.patches import lines
from feedline.report.patches.document import Document, Splice
from feedline.report.patches.tree import Call, Tree

# The parameters by their place, for calls that give them without a name.
PARAMETERS = {
    ops.MAP: ("map_func", "num_parallel_calls", "deterministic"),
    ops.BATCH: ("batch_size", "drop_remainder", "num_parallel_calls", "deterministic"),
    ops.PREFETCH: ("buffer_size", "name"),
    ops.INTERLEAVE: (
        "map_func",
        "cycle_length",
        "block_length",
        "num_parallel_calls",
        "deterministic",
    ),
    "TFRecordDataset": (
        "filenames",
        "compression_type",
        "buffer_size",
        "num_parallel_reads",
    ),
    "TextLineDataset": (
        "filenames",
        "compression_type",
        "buffer_size",
        "num_parallel_reads",
    ),
    "FixedLengthRecordDataset": (
        "filenames",
        "record_bytes",
        "header_bytes",
        "footer_bytes",
        "buffer_size",
        "compression_type",
        "num_parallel_reads",
    ),
    "compile": (
        "optimizer",
        "loss",
        "loss_weights",
        "metrics",
        "weighted_metrics",
        "run_eagerly",
        "steps_per_execution",
        "jit_compile",
    ),
}


def argument(call: Call, name: str) -> cst.Arg | None:
    """The argument as it is given, by name or by place."""
    for arg in call.node.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return arg
    known = PARAMETERS.get(call.name, ())
    for parameter, arg in zip(known, call.node.args, strict=False):
        if arg.star or arg.keyword is not None:
            break
        if parameter == name:
            return arg
    return None


def put(document: Document, call: Call, name: str, value: str) -> None:
    """The call with `name=value`; a value that is there already is replaced."""
    tree = document.tree
    given = argument(call, name)
    if given is not None:
        start, end = tree.span(given.value)
        if tree.code(given.value) != value:
            document.splice(Splice(start, end, value.encode()))
        return
    if any(arg.star for arg in call.node.args):
        raise CannotEdit(f"{call.name} is called with unpacked arguments")
    document.splice(*_added(tree, call, f"{name}={value}".encode()))


def _added(tree: Tree, call: Call, new: bytes) -> list[Splice]:
    close = call.end - 1
    if not call.node.args:
        return [Splice(close, close, new)]
    last = call.node.args[-1]
    start, end = tree.span(last)
    if not (tree.is_first(start) and tree.is_first(close)):
        return [Splice(end, end, b", " + new)]
    # One argument on each line: so stands the new one.
    line = lines.indent(tree.before(start)) + new + b"," + tree.newline
    bracket = tree.line_start(close)
    added = [Splice(bracket, bracket, line)]
    if not isinstance(last.comma, cst.Comma):
        added.append(Splice(end, end, b","))
    return added
