"""The traced function of a stage as one flat graph that can be copied in parts.

A function as TensorFlow traced it calls other functions; `flat` writes those out,
so that every tool sees single operations only. The bodies of conditions and loops
stay functions of their own. `replay` then copies any part of a flat graph,
operation by operation, into the function that is being traced at the moment: from
tensors that are given, up to tensors that are wanted. Attributes (seeds!), control
edges, devices and captured tensors are kept. A tool may answer for an operation
itself, by `convert`; that is how a graph is altered on the way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from feedline.errors import FeedlineError
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata.pipeline import Stage

Tensor = Any
Operation = Any
Convert = Callable[[Operation, list[Any]], "list[Any] | None"]
"""Makes an operation's outputs of its inputs; None: copy it as it is."""

CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
PYTHON = {"PyFunc", "EagerPyFunc", "PyFuncStateless"}
_OLD_CONTROL_FLOW = re.compile(
    r"^(Ref)?(Switch|Merge|Enter|Exit|NextIteration|LoopCond)$"
)


class CannotRewrite(FeedlineError):
    """A function or a pipeline cannot be rewritten so that it stays what it is."""

    def __init__(self, stage: Stage, reason: str) -> None:
        at = f" at {stage.where}" if stage.where else ""
        super().__init__(f"{stage.label()}{at} is left as it is: {reason}")
        self.reason = reason


@dataclass(frozen=True)
class Flat:
    """One graph: `inputs` are the element's tensors in flat order, `captures` pairs
    of a tensor from outside and its stand-in. `effects` are operations that run
    for what they do and not for what they give, such as an Assert. `source` keeps
    alive what the user's function holds: tables, variables, Python functions."""

    name: str
    graph: Any
    inputs: tuple[Tensor, ...]
    captures: tuple[tuple[Tensor, Tensor], ...]
    outputs: tuple[Tensor, ...]
    effects: tuple[Operation, ...]
    input_structure: Any
    output_structure: Any
    source: Any

    @property
    def ops(self) -> list[Operation]:
        return list(self.graph.get_operations())

    def feeds(self, elements: Sequence[Any]) -> dict[str, Any]:
        """Values for the inputs and the captures, by the names `replay` uses."""
        fed = dict(zip((one.name for one in self.inputs), elements, strict=True))
        return fed | {inside.name: outside for outside, inside in self.captures}


def wrapper_of(stage: Stage) -> Any:
    """TensorFlow's wrapper of the one function of a map or a filter."""
    traced: tuple[Any, ...] = getattr(stage.handle, "traced", ())
    if "func" in stage.args:  # its handle has the function as it was
        raise CannotRewrite(stage, "it has been rewritten already")
    if len(traced) != 1 or stage.handle.composite:
        raise CannotRewrite(stage, "it has no single traced function")
    graph = getattr(traced[0].function, "graph", None)
    if not hasattr(graph, "outputs"):
        raise CannotRewrite(stage, "its function was traced the way of TensorFlow 1")
    return traced[0]


def flat(stage: Stage, inside: Callable[[Operation], bool] | None = None) -> Flat:
    """The function of `stage`. Calls are written out only where something in them is
    `inside` what the tool looks for, or everywhere without it: TensorFlow optimizes
    each function by itself, sums in another order for one, so that a call more or
    less can change the last bit of a result."""
    from feedline.job.private.tensorflow import func_graph

    wrapper = wrapper_of(stage)
    function = wrapper.function
    name = stage.functions[0].name if stage.functions else "function"
    graph = func_graph.FuncGraph(f"feedline_{name}")
    captured = list(function.captured_inputs)
    arguments = function.inputs[: len(function.inputs) - len(captured)]
    try:
        with graph.as_default():
            inputs = tuple(_placeholder(one) for one in arguments)
            stand_ins = [graph.capture(one) for one in captured]
            fed = zip(function.inputs, [*inputs, *stand_ins], strict=True)
            outputs, effects = _write_out(
                function.graph, [new for _, new in fed], inside
            )
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        raise CannotRewrite(
            stage, f"its graph cannot be copied: {_first_line(error)}"
        ) from error
    for op in graph.get_operations():
        if _OLD_CONTROL_FLOW.match(op.type):
            raise CannotRewrite(stage, "it has control flow of TensorFlow 1's kind")
    return Flat(
        name=name,
        graph=graph,
        inputs=inputs,
        captures=tuple(graph.captures),
        outputs=tuple(outputs),
        effects=tuple(effects),
        input_structure=tf_private.input_structure(wrapper),
        output_structure=wrapper.output_structure,
        source=wrapper,
    )


def _placeholder(like: Tensor) -> Tensor:
    import tensorflow as tf

    new = tf.compat.v1.placeholder(like.dtype, like.shape)
    _keep_shape(like, new)
    return new


def _write_out(
    graph: Any, given: list[Any], inside: Callable[[Operation], bool] | None
) -> tuple[list[Any], list[Any]]:
    """`graph` into the current one, with calls replaced by what they call."""
    groups: dict[str, list[Operation]] = {}

    def convert(op: Operation, inputs: list[Any]) -> list[Any] | None:
        if op.type not in CALLS or not (
            inside is None or any(map(inside, inner_ops(op)))
        ):
            return None
        _check_written_out(op)
        body = body_of(op.graph, op.get_attr("f").name)
        outputs, effects = _write_out(body, inputs, inside)
        groups[op.name] = effects
        return outputs

    fed = {one.name: new for one, new in zip(graph.inputs, given, strict=True)}
    effects = list(graph.control_outputs)
    copy = Copy(graph, fed, convert, groups=groups)
    outputs = copy.run(graph.outputs, effects)
    return outputs, [new for op in effects for new in copy.made(op)]


def _check_written_out(op: Operation) -> None:
    """XLA computes otherwise; a function that is kept whole shares one state among
    all that call it."""
    function = tf_private.get_function(op.graph)(op.get_attr("f").name)
    attributes = getattr(function, "attributes", {})
    for name in ("_XlaMustCompile", "_noinline"):
        if name in attributes and attributes[name].b:
            raise NotImplementedError("it calls a function that is compiled separately")


def replay(
    graph: Any,
    fed: Mapping[str, Any],
    wanted: Sequence[Tensor],
    effects: Sequence[Operation] = (),
    *,
    convert: Convert | None = None,
    without: Collection[str] = (),
) -> list[Any]:
    """`wanted` computed again from `fed`, in the function that is being traced.
    `effects` run too. Operations named in `without` are not copied: what they give
    must be in `fed`, and nothing waits for them."""
    copy = Copy(graph, fed, convert, without=without)
    return copy.run(wanted, effects)


class Copy:
    """One walk over a graph that makes its operations anew."""

    def __init__(
        self,
        graph: Any,
        fed: Mapping[str, Any],
        convert: Convert | None = None,
        *,
        without: Collection[str] = (),
        groups: Mapping[str, list[Operation]] | None = None,
    ) -> None:
        self._graph, self._values = graph, dict(fed)
        self._convert, self._without = convert, set(without)
        self._groups = groups if groups is not None else {}
        self._made: dict[str, list[Operation]] = {}

    def run(self, wanted: Sequence[Tensor], effects: Sequence[Operation]) -> list[Any]:
        needed = ancestors(wanted, effects, fed=self._values, without=self._without)
        for op in self._graph.get_operations():
            if op.name in needed:
                self._one(op)
        return [self._values[tensor.name] for tensor in wanted]

    def made(self, op: Operation) -> list[Operation]:
        """What stands for `op` in the new graph."""
        return self._made.get(op.name, [])

    def _one(self, op: Operation) -> None:
        inputs = [self._values[tensor.name] for tensor in op.inputs]
        before = [new for one in op.control_inputs for new in self.made(one)]
        with _after(before):
            outputs = self._convert(op, inputs) if self._convert else None
            if outputs is None:
                new = copy_op(op, inputs)
                outputs, self._made[op.name] = list(new.outputs), [new]
            else:
                ops = [one.op for one in outputs if hasattr(one, "op")]
                self._made[op.name] = [*ops, *self._groups.get(op.name, ())]
        for old, new in zip(op.outputs, outputs, strict=True):
            self._values.setdefault(old.name, new)
            if hasattr(new, "set_shape"):
                _keep_shape(old, new)


def ancestors(
    wanted: Iterable[Tensor],
    effects: Iterable[Operation] = (),
    *,
    fed: Collection[str] = (),
    without: Collection[str] = (),
) -> set[str]:
    """The names of the operations that `wanted` and `effects` need beyond `fed`."""
    waiting = [tensor.op for tensor in wanted if tensor.name not in fed]
    waiting += [op for op in effects if op.name not in without]
    found: set[str] = set()
    while waiting:
        op = waiting.pop()
        if op.name in found or op.name in without:
            continue
        found.add(op.name)
        waiting += [one.op for one in op.inputs if one.name not in fed]
        waiting += list(op.control_inputs)
    return found


def copy_op(op: Operation, inputs: Sequence[Any]) -> Operation:
    """`op` over other inputs, in the function that is being traced."""
    from feedline.job.private.tensorflow import framework_ops as ops

    if op.type in ("Placeholder", "PlaceholderWithDefault") and not inputs:
        raise ValueError(f"nothing was given for {op.name}")
    graph = ops.get_default_graph()
    for name in called(op):
        tf_private.add_function_recursive(graph)(
            tf_private.get_function(op.graph)(name)
        )
    node = op.node_def
    attrs = {key: value for key, value in node.attr.items() if key != "_class"}
    attrs.pop("_output_shapes", None)
    with graph.device(op.device or None):
        return tf_private.create_op_internal(graph)(
            op.type,
            [ops.convert_to_tensor(one) for one in inputs],
            [tensor.dtype for tensor in op.outputs],
            name=op.name,
            attrs=attrs,
            op_def=op.op_def,
        )


def called(op: Operation) -> Iterator[str]:
    """The functions that an operation names in its attributes."""
    for value in op.node_def.attr.values():
        if value.HasField("func"):
            yield value.func.name
        for one in value.list.func:
            yield one.name


def body_of(graph: Any, name: str) -> Any:
    """The graph of a function that `graph` knows by name."""
    function = tf_private.get_function(graph)(name)
    if function is None:
        raise KeyError(f"the function {name} is not in the graph")
    return getattr(function, "cached_graph", None) or function.graph


def inner_ops(op: Operation) -> Iterator[Operation]:
    """All operations inside the functions that `op` names, however deep."""
    waiting, seen = [(op.graph, name) for name in called(op)], set()
    while waiting:
        graph, name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        body = body_of(graph, name)
        for one in body.get_operations():
            yield one
            waiting += [(body, deeper) for deeper in called(one)]


def as_function(
    name: str,
    structure: Any,
    compute: Callable[[list[Any]], list[Any]],
    output_structure: Any,
) -> Callable[..., Any]:
    """A function for `Dataset.map`: takes an element of `structure`, computes on
    its tensors in flat order, gives an element of `output_structure`."""
    import tensorflow as tf

    from feedline.job.private.tensorflow import structure as structures

    def rewritten(*element: Any) -> Any:
        nested = element if type(structure) is tuple else element[0]
        given = structures.to_tensor_list(structure, nested)
        return structures.from_compatible_tensor_list(output_structure, compute(given))

    rewritten.__name__ = rewritten.__qualname__ = name
    # Nothing in here is Python to be converted; autograph would only read it slowly.
    return tf.autograph.experimental.do_not_convert(rewritten)  # type: ignore[no-any-return]


def _after(before: list[Operation]) -> ExitStack:
    import tensorflow as tf

    stack = ExitStack()
    if before:
        stack.enter_context(tf.control_dependencies(before))
    return stack


def _keep_shape(old: Tensor, new: Tensor) -> None:
    """What the user's `set_shape` said is in no operation."""
    from feedline.job.private.tensorflow import handle_data_util

    new.set_shape(old.shape)
    if old.dtype.name in ("resource", "variant"):
        handle_data_util.copy_handle_data(old, new)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
