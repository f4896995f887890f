"""What a training step changes, read from the step itself.

An experiment trains the user's model for some steps and puts everything back. That is
possible only where all that a step touches is known: the Python that tracing runs is
seen to keep nothing, every resource that the traced graph captures is a variable (or a
table that is only looked up), and every operation in it is one whose effect is known.
`variables_of_step` gives these variables, whoever made them; anything else raises
`CannotPutBack` with what stands in the way.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from feedline.errors import CannotPutBack
from feedline.job.loops.loop import CannotRun
from feedline.job.private import keras as keras_private
from feedline.job.private import tensorflow as tf_private
from feedline.job.source.graph_safe import dependencies_of
from feedline.job.source.users import is_tensorflow, is_users, is_users_class
from feedline.job.tfdata import ops
from feedline.job.tfdata.effects import Effect, effect_of, op_counts, operations
from feedline.job.tfdata.generators import adapter_of
from feedline.job.tfdata.pipeline import Pipeline

# A table that is only looked up gives back what it was given.
_LOOKS_UP = {"LookupTableFindV2", "LookupTableSizeV2", "LookupTableExportV2"}
# Methods of Keras' own that a training step never calls.
_NOT_IN_A_STEP = {
    *("__init__", "__new__", "build", "get_config", "from_config", "compile"),
    *("fit", "evaluate", "predict", "predict_step", "save", "summary"),
    *("get_compile_config", "compile_from_config", "save_own_variables"),
    *("load_own_variables", "build_from_config", "get_build_config", "__repr__"),
    *("make_test_function", "make_predict_function", "test_on_batch"),
    *("predict_on_batch", "count_params", "save_weights", "load_weights", "adapt"),
}
_CALLED_WITH = ("f", "body", "cond", "then_branch", "else_branch", "branches")
_FIRST_INPUT = {"If": 1, "StatelessIf": 1, "Case": 1, "StatelessCase": 1}


def check_python(model: Any, *, validates: bool = False) -> None:
    """Raise where the user's Python that runs when a step is traced may keep
    anything: in the model, its layers, losses, metrics, optimizers, schedules. With
    `validates`: when the step of a validation is."""
    other = "train_step" if validates else "test_step"
    for function, owner in _users_code(model, {*_NOT_IN_A_STEP, other}):
        try:
            dependencies_of(function, owner)
        except CannotRun as reason:
            name = getattr(function, "__qualname__", "a function of the step")
            raise CannotPutBack(
                f"{name} may keep something that cannot be put back: {reason}"
            ) from None


def check_pipeline(pipeline: Pipeline) -> None:
    """Raise where reading a copy of this pipeline would leave something behind."""
    for stage in pipeline.stages():
        at = f" at {stage.where}" if stage.where else ""
        if stage.op == ops.OPAQUE:
            raise CannotPutBack(f"the pipeline has a stage that is not known{at}")
        if adapter_of(stage.handle) is not None:
            raise CannotPutBack(f"the PyDataset behind {stage.op}{at} may keep a state")
        for function in stage.functions:
            if function.python and not function.pure:
                raise CannotPutBack(
                    f"the Python in {stage.label()}{at} may keep a state"
                )
            for op in function.outside:
                if effect_of(op) is Effect.OUTSIDE:
                    raise CannotPutBack(
                        f"{stage.label()}{at} uses {op}, which {Effect.OUTSIDE.value}"
                    )


def variables_of_step(graph: Any, known: list[Any]) -> list[Any]:
    """The variables that this traced step touches and that are not among those
    `known`; raises where it touches anything else."""
    for op in op_counts(graph):
        effect = effect_of(op)
        if effect in (Effect.OUTSIDE, Effect.PYTHON):
            raise CannotPutBack(f"the step uses {op}, which {effect.value}")
    variables = list(graph.variables)
    handles = {id(handle) for each in (*variables, *known) for handle in _handles(each)}
    for outside, inside in graph.captures:
        if outside.dtype.name == "variant":
            raise CannotPutBack("the step reads a dataset or a list of its own")
        if outside.dtype.name != "resource" or id(outside) in handles:
            continue
        other = _uses(inside, graph) - _LOOKS_UP
        if other:
            raise CannotPutBack(
                f"the step works on something that is not a variable ({min(other)})"
            )
    already = {id(handle) for each in known for handle in _handles(each)}
    return [
        each
        for each in variables
        if not all(id(handle) in already for handle in _handles(each))
    ]


def touches(graph: Any, generator: Any) -> bool:
    """Does the step draw from this generator of Keras'?"""
    if generator is None:
        return False
    wanted = {id(handle) for handle in _handles(generator.state)}
    return any(id(outside) in wanted for outside, _ in graph.captures)


def draws_by_itself(graph: Any) -> bool:
    """Does it draw from a state that an operation keeps? Run eagerly, such operations
    share it with all others of their kind."""
    return any(effect_of(op.type) is Effect.DRAWS for op in operations(graph))


def traced_step(train_function: Any, iterator: Any) -> Any:
    """The graph of Keras' train function for such an iterator; nothing is run."""
    for function in _functions_in(train_function):
        return function.get_concrete_function(iterator).graph
    raise CannotPutBack("the model's train function is not one that Keras makes")


def is_untraced(train_function: Any) -> bool:
    """Is it a `tf.function`, or one in a closure, that was never called?"""
    for function in _functions_in(train_function):
        return bool(function.experimental_get_tracing_count() == 0)
    return False


def _functions_in(value: Any, depth: int = 3) -> Iterator[Any]:
    """The `tf.function`s that a function is, or has in its closure: the outermost
    first."""
    if hasattr(value, "get_concrete_function"):
        yield value
        return
    for cell in getattr(value, "__closure__", None) or () if depth else ():
        try:
            inner = cell.cell_contents
        except ValueError:
            continue
        if callable(inner):
            yield from _functions_in(inner, depth - 1)


def _handles(variable: Any) -> list[Any]:
    """Of a variable of TensorFlow's or Keras', on one device or several."""
    value = keras_private.value.get(variable, variable)
    parts = getattr(value, "values", None)
    parts = parts if isinstance(parts, tuple) else (value,)
    return [part.handle for part in parts if hasattr(part, "handle")]


def _uses(tensor: Any, graph: Any) -> set[str]:
    """The types of operations that use a resource, through the functions that it is
    handed to."""
    found: set[str] = set()
    seen: set[int] = set()
    waiting = [tensor]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        for op in one.consumers():
            places = [i for i, each in enumerate(op.inputs) if each is one]
            inner = graphs_called_by(op, graph)
            if op.type in ("Identity", "Switch", "Enter"):
                waiting += op.outputs
            elif not inner:
                found.add(op.type)
            for function in inner:
                shift = _FIRST_INPUT.get(op.type, 0)
                waiting += [function.inputs[place - shift] for place in places]
    return found


def graphs_called_by(op: Any, graph: Any) -> list[Any]:
    """The graphs of the functions that an operation calls."""
    names: list[str] = []
    for attribute in _CALLED_WITH:
        try:
            value = op.get_attr(attribute)
        except ValueError:
            continue
        many = value if isinstance(value, list) else [value]
        names += [each.name for each in many if hasattr(each, "name")]
    known = {
        name.decode() if isinstance(name, bytes) else str(name): function
        for name, function in tf_private.functions(graph).items()
    }
    found = [known[name] for name in names if name in known]
    return [getattr(each, "cached_graph", None) or each.graph for each in found]


# ------------------------------------------------------------ the user's Python


def _users_code(model: Any, never: set[str]) -> Iterator[tuple[Any, Any]]:
    """Functions of the user's that Keras may call in a step, each with the object
    that it is a method of; methods of these names it does `never` call there."""
    for value in _reachable(model):
        if isinstance(value, types.FunctionType):
            yield value, None
        elif isinstance(value, types.MethodType):
            yield value.__func__, value.__self__
        else:
            own = _overrides(type(value), never)
            yield from ((function, value) for function in own)


def _overrides(kind: type, never: set[str]) -> Iterator[Any]:
    """The user's methods that stand in the place of a library's."""
    library = [each for each in kind.__mro__ if not is_users_class(each)]
    for each in kind.__mro__:
        if not is_users_class(each):
            continue
        for name, member in vars(each).items():
            function = member.fget if isinstance(member, property) else member
            function = getattr(function, "__func__", function)
            if not isinstance(function, types.FunctionType) or not is_users(function):
                continue
            if name in ("__setattr__", "__getattribute__", "__getattr__"):
                raise CannotPutBack(f"{kind.__name__} has its own {name}")
            if name in ("make_train_function", "_make_function"):
                raise CannotPutBack(f"{kind.__name__} makes its own train function")
            called = any(name in vars(base) for base in library)
            if called and name not in never:
                yield function


def _reachable(model: Any) -> Iterator[Any]:
    """Everything of the user's that the model holds: functions, and objects of his
    classes. What is Keras' or TensorFlow's is looked through."""
    seen: set[int] = set()
    waiting: list[Any] = [model]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple | set | frozenset):
            waiting += value
        elif isinstance(value, types.FunctionType | types.MethodType):
            if is_users(value):
                yield value
            else:
                waiting += _taken_along(value)
        elif isinstance(value, type | types.ModuleType) or _is_data(value):
            continue
        elif hasattr(value, "python_function"):
            waiting.append(value.python_function)
        elif hasattr(value, "__dict__"):
            if any(is_users_class(each) for each in type(value).__mro__):
                yield value
            if value is model or is_tensorflow(type(value)):
                waiting += vars(value).values()


def _taken_along(function: Any) -> list[Any]:
    function = getattr(function, "__func__", function)
    found = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            continue
    return [*found, *(function.__defaults__ or ())]


def _is_data(value: Any) -> bool:
    name = type(value).__module__.partition(".")[0]
    return name in ("numpy", "builtins") and not hasattr(value, "__dict__")
