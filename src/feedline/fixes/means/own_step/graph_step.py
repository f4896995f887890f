"""The function that a loop of the user's calls for each step, as it is or as a graph.

The function itself stays the object that the script knows: only what it runs is
turned to an `OwnStep`, which calls either the old code or a `tf.function` of it. The
graph is called only with what it is known to treat alike; the moment anything else
comes along, the old code runs, as if we were not there.
"""

from __future__ import annotations

import functools
import gc
import inspect
import logging
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from feedline.job.loops.loop import CannotRun
from feedline.job.private import tensorflow as tf_private
from feedline.job.source.definitions import made
from feedline.job.source.dependencies import Dependency
from feedline.job.source.frames import caught
from feedline.job.source.graph_safe import dependencies_of
from feedline.job.source.known_tensorflow import keeps_only_variables
from feedline.job.source.users import instead_of, is_users_class
from feedline.job.tfdata.functions import draws

log = logging.getLogger(__name__)

_MOST_TRACES = 8
_REMEMBERED = 4

Call = tuple[tuple[Any, ...], dict[str, Any]]
Leader = Callable[
    [tuple[Any, ...], dict[str, Any], types.FrameType], "tuple[Any, ...] | None"
]
"""What the step returns for this call, in a tuple; None to have Python run it."""


class OwnStep:
    """`on`: run as a graph where that is the same; `fused`: one that XLA compiles.
    While it is `recording` the first calls are remembered. `tell` hears when the graph
    can no longer be used. `led` decides about each call itself, while it is set."""

    def __init__(self, code: types.CodeType) -> None:
        self.function = _function_of(code)
        self._begin(_copy_of(self.function))
        self._code = code
        instead_of[self.function] = self.original
        self.function.__code__ = _leading_to(self.function, self)

    def _begin(self, original: Callable[..., Any]) -> None:
        self.original: Any = original
        self.on = self.fused = False
        self.recording = False
        self.calls: list[Call] = []
        self.tell: Callable[[str], None] = lambda _: None
        self.led: Leader | None = None
        self.broken = ""
        self._held: list[Dependency] = []
        self._seen: dict[Any, list[Any]] = {}  # with the objects, which keep their `id`
        self._part = False
        self.graph_function: Any = None
        self._fused_function: Any = None

    def remove(self) -> None:
        """The function is as it was, for good."""
        self.function.__code__ = self._code
        instead_of.pop(self.function, None)
        self.function = self.original = None

    @contextmanager
    def as_part(self) -> Iterator[None]:
        """Inside, a graph that is being traced takes the step's for a part of it."""
        if self.graph_function is None:
            self.graph_function = self._compiled()
        if self.fused and self._fused_function is None:
            self._fused_function = self._compiled(jit_compile=True)
        self._part = True
        try:
            yield
        finally:
            self._part = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._part:
            return (self._fused_function if self.fused else self.graph_function)(
                *args, **kwargs
            )
        original = self.original  # of a step that is removed meanwhile, too
        self.note((args, kwargs))
        found = self.computed(args, kwargs, sys._getframe(1))
        return original(*args, **kwargs) if found is None else found[0]

    def note(self, call: Call) -> None:
        if self.recording and len(self.calls) < _REMEMBERED:
            self.calls.append(call)

    def computed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], frame: types.FrameType
    ) -> tuple[Any, ...] | None:
        """What the graph returns, in a tuple; None where Python is to run the step.
        An error in a graph comes from another place and may leave more done than
        Python's: where the script would catch it, Python runs the step."""
        if self.led is not None:
            return self.led(args, kwargs, frame)
        if not self.on or caught(frame) or not self.fits(args, kwargs):
            return None
        if self.fused:
            return self._if_it_can(args, kwargs)
        return (self.as_graph(*args, **kwargs),)

    def as_graph(self, *args: Any, **kwargs: Any) -> Any:
        """The graph, with the very operations of the step: TensorFlow's optimizer of
        graphs would merge some of them, which changes the last bits."""
        with unoptimized():
            return self.graph_function(*args, **kwargs)

    def as_fused(self, *args: Any, **kwargs: Any) -> Any:
        """The graph as XLA compiles it, which rounds as it likes."""
        if self._fused_function is None:
            self._fused_function = self._compiled(jit_compile=True)
        return self._fused_function(*args, **kwargs)

    def _if_it_can(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...] | None:
        """What `as_fused` returns, in a tuple; None where XLA cannot compile it, which
        shows before anything is computed."""
        import tensorflow as tf

        try:
            return (self.as_fused(*args, **kwargs),)
        except tf.errors.OpError as error:
            log.info("XLA cannot run the step", exc_info=True)
            self._give_up(f"XLA: {error.message}".partition("\n")[0])
            return None

    def _compiled(self, **options: Any) -> Any:
        import tensorflow as tf

        # A length that is left open could turn an `if` of the step around.
        written = self.looked_at.__code__ not in made
        return tf.function(self.original, autograph=written, **options)

    def fits(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """May the graph take this call?"""
        if self.broken:
            return False
        try:
            key = kind_of(args, kwargs)
            if key is None:
                return False
            if key not in self._seen:
                self.trace(args, kwargs)
                self._seen[key] = _objects_in(args, kwargs)
            for held in self._held:
                if not held.is_same():
                    raise CannotRun(f"the script has changed {held.said}")
        except CannotRun as refusal:
            self._give_up(str(refusal))
        except Exception as error:  # what cannot be traced runs as it is
            log.info("the step cannot be traced", exc_info=True)
            self._give_up(f"{type(error).__name__}: {error}".partition("\n")[0])
        return not self.broken

    def _give_up(self, why: str) -> None:
        self.broken = why
        self.tell(why)

    def require(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise `CannotRun` where the graph may not take this call."""
        if not self.fits(args, kwargs):
            raise CannotRun(
                self.broken or "it is called with Python numbers or arrays of NumPy"
            )

    def knows(self, key: Any) -> bool:
        """Is there a graph for calls of this kind, or may there be one more?"""
        return key in self._seen or len(self._seen) < _MOST_TRACES

    def trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Look at its source and make the graph for such a call. Raises `CannotRun`,
        or whatever tracing raises."""
        if len(self._seen) >= _MOST_TRACES:
            raise CannotRun("its shapes keep changing")
        me = args[0] if args and self._is_method_of(args[0]) else None
        given = (o for o in _objects_in(args, kwargs) if o is not me)
        self._held += dependencies_of(self.looked_at, me, given)
        if self.graph_function is None:
            self.graph_function = self._compiled()
        graph = self.graph_function.get_concrete_function(*args, **kwargs).graph
        if draws(graph):
            raise CannotRun("it draws random numbers, which a graph draws differently")

    @property
    def looked_at(self) -> Any:
        """The function whose source says what the step does."""
        return self.original

    def _is_method_of(self, first: Any) -> bool:
        own = inspect.getattr_static(type(first), self.function.__name__, None)
        return own is self.function

    def graphs(self) -> list[Any]:
        """One for each kind of call."""
        made = tf_private.list_all_concrete_functions(self.graph_function)()
        return [concrete.graph for concrete in made]

    def variables(self) -> list[Any]:
        """All that its graphs read or change."""
        found = {id(each): each for graph in self.graphs() for each in graph.variables}
        return list(found.values())


def kind_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Shapes, types and the other arguments; None where there is one that a graph
    would take for a constant, or not at all."""
    parts: list[Any] = []
    if not _note_kinds((args, kwargs), parts, [0]):
        return None
    return tuple(parts)


def _note_kinds(value: Any, parts: list[Any], place: list[int]) -> bool:
    import tensorflow as tf

    kind = type(value)
    if kind is tuple or kind is list:
        parts.append((kind, len(value)))
        return all(_note_kinds(each, parts, place) for each in value)
    if kind is dict:
        parts.append((kind, *value))
        return all(_note_kinds(each, parts, place) for each in value.values())
    first, place[0] = place[0] == 0, place[0] + 1
    if isinstance(value, tf.Tensor):
        parts.append((value.dtype, tuple(value.shape)))
    elif kind in (bool, str, type(None)):
        parts.append((kind, value))
    elif _is_object(value) or (first and is_users_class(kind)):
        parts.append((kind, id(value)))
    elif isinstance(value, tf.RaggedTensor | tf.SparseTensor | tf.IndexedSlices):
        parts.append(tf.type_spec_from_value(value))
    else:
        return False
    return True


def _objects_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    import tensorflow as tf

    leaves = tf.nest.flatten((args, kwargs))
    return [
        leaf
        for place, leaf in enumerate(leaves)
        if _is_object(leaf) or (place == 0 and is_users_class(type(leaf)))
    ]


def _is_object(leaf: Any) -> bool:
    """A model, an optimizer, a variable: what a graph knows by its identity."""
    import tensorflow as tf

    if isinstance(leaf, tf.Variable):
        return True
    values = tf.Tensor | tf.__internal__.CompositeTensor
    return keeps_only_variables(type(leaf)) and not isinstance(leaf, values)


@contextmanager
def unoptimized(wanted: bool = True) -> Iterator[None]:
    """Inside, TensorFlow's optimizer of graphs leaves them alone, if that is wanted."""
    from feedline.job.private.tensorflow import context

    here = context.context()
    before = here.function_call_options
    if wanted:
        here.function_call_options = _without_optimizer(
            before.executor_type, before.config_proto_serialized
        )
    try:
        yield
    finally:
        here.function_call_options = before


@functools.cache
def _without_optimizer(executor: Any, serialized: bytes) -> Any:
    from feedline.job.private.tensorflow import config_pb2, context

    config = config_pb2.ConfigProto()
    config.ParseFromString(serialized)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return context.FunctionCallOptions(executor_type=executor, config_proto=config)


def _function_of(code: types.CodeType) -> Any:
    found = [
        each
        for each in gc.get_referrers(code)
        if isinstance(each, types.FunctionType) and each.__code__ is code
    ]
    if len(found) != 1:
        raise CannotRun(f"{code.co_name} is there {len(found)} times")
    if code.co_flags & (0x20 | 0x80 | 0x100 | 0x200):  # a generator or a coroutine
        raise CannotRun(f"{code.co_name} is a generator")
    return found[0]


def _copy_of(function: Any) -> Any:
    copy = types.FunctionType(
        function.__code__.replace(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__ = function.__qualname__
    copy.__module__ = function.__module__
    return copy


def _leading_to(function: Any, target: Callable[..., Any]) -> types.CodeType:
    """Code that calls `target`, in the shape of the function's own: a function must
    keep as many variables of the functions around it as it has."""
    free = ", ".join(function.__code__.co_freevars)
    text = (
        f"def around({free}):\n"
        f"  def step(*args, **kwargs):\n"
        f"    if False: ({free})\n"
        f"    return 'TARGET'(*args, **kwargs)\n"
        f"  return step\n"
    )
    if not free:
        text = text.replace("    if False: ()\n", "")
    made: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(text, __file__, "exec"), made)
    count = len(function.__code__.co_freevars)
    code: types.CodeType = made["around"](*[None] * count).__code__
    constants = tuple(target if c == "TARGET" else c for c in code.co_consts)
    return code.replace(co_consts=constants, co_name=function.__code__.co_name)
