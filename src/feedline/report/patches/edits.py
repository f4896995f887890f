"""One function per fix: the plan's change made in the user's source.

Each is given the call that it is about and raises `CannotEdit` where the change
cannot be made there as an edit; then a comment says it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice

from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.report.patches import arguments, chains, models
from feedline.report.patches.document import CannotEdit, Document
from feedline.report.patches.find import find
from feedline.report.patches.names import autotune, data_module, tensorflow_module
from feedline.report.patches.places import SHUFFLE_PASSES, Place
from feedline.report.patches.predicates import may_stand_before
from feedline.report.patches.tree import Call, Tree

_BY_HAND = ""  # the comment itself says why
_OF_MODEL = (
    "compile-step",
    "jit-compile",
    "row-sparse-embedding",
    "steps-per-execution",
)

NEEDS_ALL = ("filter-first",)
"""These look at functions that may be defined anywhere in the file."""


def locate(tree: Tree, place: Place, together: int) -> Call:
    """The call that the edit is about."""
    if place.edit.fix in _OF_MODEL:
        return models.compile_call(tree, place)
    if place.edit.fix not in _EDITS:
        raise CannotEdit(_BY_HAND)
    return find(tree, place, together)


def edit(document: Document, place: Place, call: Call) -> None:
    _EDITS[place.edit.fix](document, place, call)


def _parallel(document: Document, place: Place, call: Call) -> None:
    if place.edit.args.get("split"):
        raise CannotEdit(_BY_HAND)
    tune = autotune(document.tree, call.node)
    arguments.put(document, call, "num_parallel_calls", tune)


def _interleave(document: Document, place: Place, call: Call) -> None:
    names = {"turns": "num_parallel_calls", "mixed": "num_parallel_reads"}
    name = names.get(str(place.edit.args.get("way")))
    if name is None or name not in arguments.PARAMETERS.get(call.name, ()):
        raise CannotEdit(_BY_HAND)
    arguments.put(document, call, name, autotune(document.tree, call.node))


def _unordered(document: Document, _: Place, call: Call) -> None:
    if "deterministic" not in arguments.PARAMETERS.get(call.name, ()):
        raise CannotEdit(_BY_HAND)
    if arguments.argument(call, "num_parallel_calls") is None:
        raise CannotEdit("it does not run in parallel by an argument of its own")
    arguments.put(document, call, "deterministic", "False")


def _prefetch(document: Document, _: Place, call: Call) -> None:
    call = chains.end_of(document, call)
    if call.name != ops.PREFETCH:
        chains.append(document, call, ops.PREFETCH, autotune(document.tree, call.node))


def _prefetch_to_device(document: Document, place: Place, call: Call) -> None:
    tree, call = document.tree, chains.end_of(document, call)
    module = data_module(tree, call.node)
    if module is None:
        raise CannotEdit("this file has no name for tf.data")
    device = f"/{place.edit.args['device']}"
    copy = f"{module}.experimental.copy_to_device({json.dumps(device)})"
    document.marks["copied"] = call.at
    chains.append(document, call, "apply", copy)
    found = document.tree.call_at(document.marks.pop("copied"))
    after = found and chains.following(document.tree, found)
    if after is not None:
        chains.append(document, after, ops.PREFETCH, "2")


def _cache(document: Document, place: Place, call: Call) -> None:
    if place.edit.args.get("on_disk"):
        raise CannotEdit(_BY_HAND)
    chains.append(document, call, ops.CACHE)


_WHOLE = (
    "lambda *elements: {tf}.vectorized_map(lambda element: {f}(*element), elements)"
)


def _vectorize(document: Document, place: Place, call: Call) -> None:
    """TensorFlow's own vectoriser is right for any function of one element."""
    tensorflow = tensorflow_module(document.tree, call.node)
    given = arguments.argument(call, "map_func")
    if tensorflow is None or given is None:
        raise CannotEdit(_BY_HAND)
    function = document.tree.code(given.value)
    if re.search(r"\belements?\b", function) or "\n" in function:
        raise CannotEdit(_BY_HAND)
    if not function.isidentifier():
        function = f"({function})"
    whole = _WHOLE.format(tf=tensorflow, f=function)
    document.marks["moved"] = call.at
    arguments.put(document, call, "map_func", whole)
    for moved in _passed_by(document, _map_moves_over):
        if moved == ops.BATCH:
            break
    else:
        raise CannotEdit("no batch follows it in the same chain")
    now = document.tree.call_at(document.marks.pop("moved"))
    if now is not None:
        _parallel(document, place, now)


def _cache_before_shuffle(document: Document, place: Place, call: Call) -> None:
    document.marks["moved"] = call.at
    maps = int(place.edit.args["maps"])
    if (
        len(list(islice(_passed_by(document, lambda name: name == ops.MAP), maps)))
        < maps
    ):
        raise CannotEdit("the maps that follow it are not in the same chain")
    now = document.tree.call_at(document.marks.pop("moved"))
    before = now and chains.preceding(document.tree, now)
    if before is not None:
        chains.append(document, before, ops.CACHE)


def _map_moves_over(name: str) -> bool:
    return name == ops.BATCH or ops.has(name, Fact.PATCH_PASSES)


def _passed_by(document: Document, may: Callable[[str], bool]) -> Iterator[str]:
    """The links that follow the marked one change places with it, one after the
    other, as long as they have a name that may."""
    while True:
        now = document.tree.call_at(document.marks["moved"])
        after = now and chains.following(document.tree, now)
        if after is None or not may(after.name):
            return
        chains.move_up(document, after)
        yield after.name


def _shuffle_ids(document: Document, place: Place, call: Call) -> None:
    _move_before(
        document, call, lambda before: _shuffle_passes(before.name), place.over
    )


def _shuffle_passes(name: str) -> bool:
    return name == ops.MAP or bool(ops.facts(name) & SHUFFLE_PASSES)


def _filter_first(document: Document, _: Place, call: Call) -> None:
    def may_pass(before: Call) -> bool:
        now = chains.following(document.tree, before)
        return (
            before.name == ops.MAP
            and now is not None
            and may_stand_before(document.tree, now, before)
        )

    _move_before(document, call, may_pass, most=1)


def _move_before(
    document: Document, call: Call, may_pass: Callable[[Call], bool], most: int
) -> None:
    """As far up as it may, over `most` links, and over a map at least."""
    document.marks["moved"] = call.at
    passed: list[str] = []
    while len(passed) < most:
        now = document.tree.call_at(document.marks["moved"])
        before = now and chains.preceding(document.tree, now)
        if now is None or before is None or not may_pass(before):
            break
        chains.move_up(document, now)
        passed.append(before.name)
    del document.marks["moved"]
    if ops.MAP not in passed:
        raise CannotEdit("the map before it is not in the same chain, or not the same")


def _compile_step(document: Document, _: Place, call: Call) -> None:
    if arguments.argument(call, "run_eagerly") is not None:
        arguments.put(document, call, "run_eagerly", "False")
        return
    receiver = "" if call.receiver is None else document.tree.code(call.receiver)
    if not models.set_attribute(document, receiver, "run_eagerly", "False"):
        raise CannotEdit("run_eagerly is not set in this file")


def _compiled(document: Document, call: Call, name: str, value: str) -> None:
    models.check_own_compile(document.tree, name)
    arguments.put(document, call, name, value)


_COUNTED = re.compile(rb"\bvalidation_steps\s*=|\.(evaluate|predict)\([^)]*\bsteps\s*=")


def _steps(document: Document, place: Place, call: Call) -> None:
    """In `compile` it holds for all that the model does, and Keras goes past a number
    of steps that it does not divide."""
    steps = int(place.edit.args["steps"])
    text = document.tree.text
    fits = len(re.findall(rb"\.fit\(", text))
    if _COUNTED.search(text) or (b"steps_per_epoch" in text and fits > 1):
        raise CannotEdit("steps are counted elsewhere, and must be a multiple of it")
    _compiled(document, call, "steps_per_execution", str(steps))


def _jit(document: Document, _: Place, call: Call) -> None:
    _compiled(document, call, "jit_compile", "True")


def _row_sparse(document: Document, place: Place, call: Call) -> None:
    models.after_compile(document, call, lazy=bool(place.edit.args.get("lazy")))


_EDITS: dict[str, Callable[[Document, Place, Call], None]] = {
    "parallel-map": _parallel,
    "parallel-batch": _parallel,
    "interleave": _interleave,
    "unordered": _unordered,
    "prefetch": _prefetch,
    "prefetch-to-device": _prefetch_to_device,
    "cache": _cache,
    "cache-before-shuffle": _cache_before_shuffle,
    "vectorize-map": _vectorize,
    "shuffle-ids": _shuffle_ids,
    "filter-first": _filter_first,
    "compile-step": _compile_step,
    "steps-per-execution": _steps,
    "jit-compile": _jit,
    "row-sparse-embedding": _row_sparse,
}
