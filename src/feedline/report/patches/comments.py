"""What an edit says where it cannot be made, and how that gets into the source.

A comment stands above the statement that the line belongs to. It holds ASCII only,
so that it fits into a file of any encoding.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator

from feedline.job.tfdata import ops
from feedline.report.patches import lines
from feedline.report.patches.document import Document, parsed
from feedline.report.patches.places import Place
from feedline.report.text import printable

_WIDTH = 88
_NARROWEST = 40
_MOST_LABEL = 60


def said(place: Place, tune: str, reason: str = "") -> str:
    """What to do, as one line; `tune` is how this file calls AUTOTUNE."""
    tell = _TEXTS.get(place.edit.fix, _unknown)
    text = f"feedline: {place.edit.fix}: {tell(place, tune)}"
    return printable(f"{text} ({reason})" if reason else text, "ascii")


def put(document: Document, at: int, text: str) -> bool:
    """Above the statement of this offset; False where no comment can stand."""
    line = lines.number(document.text, at)
    for above in _candidates(document, line):
        indent = lines.indent(lines.get(document.text, above))
        block = [indent + each for each in _wrapped(text, len(indent))]
        if _stands(document.text, above, block) or document.insert_lines(above, block):
            return True
    return False


def _wrapped(text: str, indent: int) -> list[bytes]:
    wrapped = textwrap.wrap(
        text,
        max(_NARROWEST, _WIDTH - indent),
        initial_indent="# ",
        subsequent_indent="#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.encode("ascii") for line in wrapped]


def _candidates(document: Document, line: int) -> Iterator[int]:
    """Lines to stand above: the start of the innermost statement, of those around
    it, then any line before (a string may have begun there)."""
    found = {
        node.lineno
        for node in ast.walk(parsed(document.text))
        if isinstance(node, ast.stmt)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    }
    yield from sorted(found, reverse=True)
    yield from range(line, 0, -1)


def _stands(text: bytes, line: int, block: list[bytes]) -> bool:
    """Is it among the comments above that line already?"""
    above: list[bytes] = []
    while line > 1 and (one := lines.get(text, line - 1)).lstrip().startswith(b"#"):
        above.insert(0, one.rstrip())
        line -= 1
    size = len(block)
    return any(above[n : n + size] == block for n in range(len(above) - size + 1))


# --------------------------------------------------------------------- the texts

_Text = Callable[[Place, str], str]


def _label(place: Place) -> str:
    label = place.label or place.op or "this stage"
    return label if len(label) <= _MOST_LABEL else f"{label[:_MOST_LABEL]}..."


def _parallel_map(place: Place, tune: str) -> str:
    if place.edit.args.get("split"):
        return (
            f"{_label(place)} draws random numbers under a seed. To run it on several "
            "cores and keep the draws, make them in a map of their own, then do the "
            f"rest in a second map with num_parallel_calls={tune}"
        )
    return f"give {_label(place)} num_parallel_calls={tune}"


def _cache(place: Place, _: str) -> str:
    if place.edit.args.get("on_disk"):
        return (
            f"keep what {_label(place)} gives on a local disk: .cache(FILE) right "
            "after it; remove FILE when the data or the code before it change"
        )
    return f".cache() right after {_label(place)}"


def _interleave(place: Place, tune: str) -> str:
    way = place.edit.args.get("way")
    if way == "turns":
        return f"give {_label(place)} num_parallel_calls={tune}"
    if way == "mixed":
        return f"give {_label(place)} num_parallel_reads={tune}"
    return (
        "read the next files ahead, in the same order: on the dataset of file names "
        ".apply(tf.data.experimental.parallel_interleave(READ, cycle_length=1, "
        "prefetch_input_elements=2, buffer_output_elements=64)), where READ makes the "
        "dataset of one file"
    )


def _vectorize(place: Place, tune: str) -> str:
    function = _label(place).removeprefix(f"{place.op}(").removesuffix(")")
    return (
        f"run {_label(place)} once per batch: put .batch(...) before "
        f".map({function}, num_parallel_calls={tune}), once {function} works on a "
        "whole batch"
    )


def _workers(place: Place, _: str) -> str:
    number = place.edit.args.get("workers", "several")
    return (
        f"{_label(place)} runs Python, one thread at a time; `feedline run` gives it "
        f"{number} worker processes. By hand: the same in TensorFlow operations"
    )


def _steps(place: Place, _: str) -> str:
    number = place.edit.args.get("steps")
    if place.op == "for":
        return (
            f"{number} steps per launch: this loop in a function with @tf.function, "
            "which is given the dataset"
        )
    return (
        f"{number} steps per launch: steps_per_execution={number} in the model's "
        "compile(...). Any number of steps given to fit, evaluate or predict must be a "
        "multiple of it"
    )


def _row_sparse(place: Place, _: str) -> str:
    lazy = bool(place.edit.args.get("lazy"))
    return (
        "from feedline.rows import install, and after the model's compile(...): "
        f"install(model, lazy={lazy})"
    )


def _mixed(place: Place, _: str) -> str:
    policy = place.edit.args.get("policy", "mixed_bfloat16")
    return (
        f'keras.mixed_precision.set_global_policy("{policy}") before the model is made'
    )


def _in_step(place: Place, _: str) -> str:
    return (
        f"take {_label(place)} out of the dataset and do the same, on whole batches, "
        "at the start of the model: as its first layer or in train_step"
    )


def _maps(place: Place) -> str:
    count = place.edit.args.get("maps", 1)
    return ops.MAP if count == 1 else f"{count} maps"


def _unknown(place: Place, _: str) -> str:
    return f"`feedline run` applies it to {_label(place)}"


_TEXTS: dict[str, _Text] = {
    "parallel-map": _parallel_map,
    "prefetch": lambda _, tune: f"end the dataset with .prefetch({tune})",
    "prefetch-to-device": lambda place, _: (
        "end the dataset with .apply(tf.data.experimental.copy_to_device("
        f'"/{place.edit.args.get("device", "GPU:0")}")).prefetch(2)'
    ),
    "cast-on-device": _in_step,
    "augment-on-device": _in_step,
    "larger-batch": lambda place, _: (
        f"a batch of {place.edit.args.get('batch_size')}, if the training stands it"
    ),
    "cache": _cache,
    "cache-undrawn": lambda p, _: (
        f"take {_label(p)} apart: what it does before its first random draw in a map "
        "of its own, then .cache(), then the shuffle if one stands before, then the "
        "rest"
    ),
    "cache-before-shuffle": lambda p, _: (
        f"put .cache() and then .{_label(p)} after the {_maps(p)} that follows it"
    ),
    "parallel-batch": lambda p, tune: f"give {_label(p)} num_parallel_calls={tune}",
    "interleave": _interleave,
    "unordered": lambda place, _: (
        f"{_label(place)} may hand on first what is ready first: deterministic=False, "
        "or options.deterministic = False and .with_options(options)"
    ),
    "vectorize-map": _vectorize,
    "shuffle-ids": lambda p, _: f"put .{_label(p)} before the map that feeds it",
    "filter-first": lambda p, _: (
        f"put .{_label(p)} before the map that feeds it; it must look only at what "
        "that map hands on unchanged"
    ),
    "crop-first": lambda p, _: (
        f"in {_label(p)}, what is done to each pixel by itself (hue, saturation) after "
        "the crop"
    ),
    "cropped-decode": lambda p, _: (
        f"in {_label(p)}, tf.image.decode_and_crop_jpeg for the part that is cut out"
    ),
    "scaled-decode": lambda p, _: (
        f"in {_label(p)}, tf.io.decode_jpeg(..., ratio=2), 4 or 8 where the resize "
        "makes the picture smaller still"
    ),
    "worker-processes": _workers,
    "steps-per-execution": _steps,
    "compile-step": lambda p, _: (
        "the step as a function of its own, with @tf.function"
        f"{'(jit_compile=True)' if p.edit.args.get('fused') else ''} above it"
        if p.op == "def"
        else "run_eagerly=False in the model's compile(...)"
    ),
    "jit-compile": lambda _p, _t: "jit_compile=True in the model's compile(...)",
    "mixed-precision": _mixed,
    "row-sparse-embedding": _row_sparse,
}
