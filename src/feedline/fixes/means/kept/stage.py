"""A stage of Python whose pure parts are computed once.

What is looked for: from the generator, or from the `__getitem__` of a `PyDataset`, down
through the functions of the user's that it names, the outermost that are pure, take
plain values and read nothing that can be changed in its place. Besides them what
libraries do for it: Pillow's decoding, Keras' `load_img`.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from feedline.files.sizes import size
from feedline.fixes.means.errors import Refused
from feedline.fixes.means.kept.calls import LISTED, Kept
from feedline.fixes.means.kept.memory import Memory
from feedline.fixes.means.kept.pictures import Decoding
from feedline.fixes.means.kept.reads import functions_in, named_in
from feedline.fixes.means.kept.scope import Scope, Switched
from feedline.fixes.means.kept.values import CannotKeep
from feedline.job import marks
from feedline.job.private import tensorflow as tf_private
from feedline.job.source.purity import purity
from feedline.job.source.users import is_user
from feedline.job.tfdata import ops
from feedline.job.tfdata.generators import adapter_of, generator_of, given_generator
from feedline.job.tfdata.pipeline import Stage

_MOST = 100
_PICTURES = {"PIL", "Image", "load_img"}
_NOT_CALLED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass
class KeptStage:
    """`reasons` says why other functions are computed each time."""

    reasons: tuple[str, ...]
    memory: Memory
    scope: Scope
    old: Stage

    def counts(self) -> tuple[int, int]:
        return self.memory.found, self.memory.made

    def stop(self) -> None:
        """The job goes on without it, and what was kept is given back."""
        self.scope.enabled = False
        self.memory.clear()

    def came_to(self) -> str:
        found, made = self.counts()
        names = [each.name for each in self.scope.switched if each.used]
        return (
            f"{found:,} of {found + made:,} results of "
            f"{', '.join(names) or 'its functions'} were found again "
            f"({size(self.memory.used)})"
        )

    def stage(self) -> Stage:
        found = self.old.handle
        args: dict[str, Any] = {
            "func": _within(self.scope, generator_of(found)),
            "output_signature": found.dataset.element_spec,
        }
        if given := _arguments(found):
            args["args"] = given
        return replace(self.old, args=args, handle=None)


def kept_stage(stage: Stage) -> KeptStage:
    """Raises Refused where nothing of it can be kept."""
    if stage.op != ops.FROM_GENERATOR or stage.handle is None:
        raise Refused(f"{stage.label()} is not a generator that was read")
    adapter = adapter_of(stage.handle)
    if adapter is not None and adapter.enqueuer is not None:
        raise Refused("Keras reads the PyDataset with its own workers")
    memory = Memory()
    reasons: list[str] = []
    switched: list[Switched] = []
    codes = list(_codes(stage))
    switched += _functions(stage, memory, reasons, codes)
    pictures = any(map(_is_of_pictures, codes))
    for module, name in LISTED if pictures else ():
        listed = getattr(sys.modules.get(module), name, None)
        if isinstance(listed, types.FunctionType):
            switched.append(Kept(listed, memory, opens=True))
    if pictures and Decoding.loaded():
        switched.append(Decoding(memory))
    if not switched:
        why = f": {reasons[0]}" if reasons else ""
        raise Refused(f"nothing that {stage.label()} computes can be kept{why}")
    return KeptStage(tuple(reasons), memory, Scope(switched), stage)


def _codes(stage: Stage) -> Iterator[types.CodeType]:
    """Of the Python that makes the elements, where it is not among its functions."""
    given = given_generator(stage.handle)
    function = generator_of(stage.handle) if given is None else given
    code = getattr(function, "gi_code", None) or getattr(function, "__code__", None)
    if code is not None:
        yield code


def _is_of_pictures(code: types.CodeType) -> bool:
    """Does it name what loads pictures? Only a hint: else the search is for nothing."""
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return bool(_PICTURES & {*code.co_names}) or any(map(_is_of_pictures, inner))


def _functions(
    stage: Stage, memory: Memory, reasons: list[str], codes: list[types.CodeType]
) -> Iterator[Kept]:
    """The outermost functions of the user's whose results may be kept; the code of all
    that was looked at goes to `codes`."""
    waiting = list(_begin(stage))
    done: set[int] = set()
    while waiting and len(done) < _MOST:
        function, me = waiting.pop(0)
        if id(function) in done:
            continue
        done.add(id(function))
        codes.append(function.__code__)
        if not is_user(function):
            waiting += functions_in(function, me) if me is not None else []
            continue
        why = _why_not(function, me)
        if not why:
            try:
                bound = function.__get__(me) if me is not None else function
                yield Kept(function, memory, me=me, opens=purity(bound).opens)
                continue
            except CannotKeep as reason:
                why = f"it reads {reason}"
        reasons.append(f"{function.__qualname__} is computed each time: {why}")
        waiting += functions_in(function, me)


def _why_not(function: Any, me: Any) -> str:
    if function.__code__.co_flags & _NOT_CALLED:
        return "it is a generator"
    found = purity(function.__get__(me) if me is not None else function)
    return "" if found.pure is True else "; ".join(found.reasons[:1]) or "unknown"


def _begin(stage: Stage) -> Iterator[tuple[Any, Any]]:
    """What is named by the Python that makes the elements."""
    adapter = adapter_of(stage.handle)
    if adapter is not None:
        dataset = adapter.py_dataset
        make = inspect.getattr_static(type(dataset), "__getitem__", None)
        if isinstance(make, types.FunctionType):
            yield make, dataset
        return
    given = given_generator(stage.handle)
    if given is not None:
        frame = getattr(given, "gi_frame", None)
        if frame is not None:
            names = dict(frame.f_locals)
            me = names.get("self")
            yield from named_in(frame.f_code, frame.f_globals, me, names)
        return
    function = generator_of(stage.handle)
    me = getattr(function, "__self__", None)
    function = getattr(function, "__func__", function)
    if isinstance(function, types.FunctionType):
        yield from functions_in(function, me)


def _arguments(found: Any) -> tuple[Any, ...]:
    from feedline.job.tfdata.functions import closure

    ((traced, _),) = found.users
    around = closure(closure(tf_private.func(traced))["get_iterator_id_fn"])
    return tuple(around.get("args", ()))


def _within(scope: Scope, original: Callable[..., Any]) -> Callable[..., Any]:
    """The same generator, each of its elements made in the scope."""

    def elements(*args: Any) -> Iterator[Any]:
        with scope:
            source = iter(original(*args))
        with contextlib.closing(_closable(source)):
            while True:
                with scope:
                    try:
                        element = next(source)
                    except StopIteration:
                        return
                yield element

    setattr(elements, marks.BEHIND, original)
    return elements


def _closable(source: Any) -> Any:
    return source if hasattr(source, "close") else contextlib.ExitStack()
