"""The step: a Keras model with its layers, losses, metrics and optimizer, or a loop of
the script's own with the function that is its step.

Names of layers carry counters and are left out; how layers are joined is told by their
places. A learning rate that is a number is not told: training changes it.
"""

from __future__ import annotations

import ast
import gc
import linecache
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from feedline.fixes.identity.part import Part, digest
from feedline.fixes.identity.stages import told
from feedline.job.private import keras as keras_private
from feedline.job.tfdata.pipeline import Where

if TYPE_CHECKING:
    from feedline.fixes.identity.code import Teller

_OPTIONS = ("jit_compile", "run_eagerly", "steps_per_execution")
_LEFT_OUT = ("name", "learning_rate", "build_config", "registered_name")


def step_of(loop: Any) -> Part:
    """The step of a live loop, as it is now."""
    at = f" at {loop.where}" if loop.where else ""
    facts = {"kind": loop.kind, "callbacks": ", ".join(sorted(loop.callbacks))}
    strategy = loop.strategy
    if strategy is not None:
        name = type(strategy).__name__
        facts["strategy"] = f"{name} of {strategy.num_replicas_in_sync}"
    if loop.kind == "fit" and loop.model is not None:
        return Part(
            "step", f"the model that is trained{at}", facts | _model(loop.model)
        )
    facts["loop"] = _source(loop.where)
    facts["function"] = told(_step_function(loop))
    return Part("step", f"the training loop{at}", facts)


def _model(model: Any) -> dict[str, str]:
    compiled = getattr(keras_private.compile_config.get(model), "config", None) or {}
    rest = {n: v for n, v in compiled.items() if n not in ("optimizer", *_OPTIONS)}
    return {
        "layers": told(model),
        "loss and metrics": told([rest, getattr(model, "loss", None)]),
        "optimizer": told(getattr(model, "optimizer", None)),
        **{name: str(getattr(model, name, None)) for name in _OPTIONS},
    }


# ------------------------------------------------------------------------ Keras


def keras_object(value: Any, teller: Teller) -> Any:
    """What Keras knows of one of its objects besides its class; None for others."""
    if not any(each.__module__.startswith("keras.") for each in type(value).__mro__):
        return None
    if keras_private.flatten_layers.on(value):
        return _layer(value, teller)
    return teller.tell(_config(value))


def _layer(layer: Any, teller: Teller) -> Any:
    shapes = [(str(weight.dtype), str(weight.shape)) for weight in layer.weights]
    inner = keras_private.flatten_layers(layer)(include_self=False, recursive=False)
    within = [teller.tell(each) for each in inner]
    config = None if hasattr(layer, "train_step") else teller.tell(_config(layer))
    return (config, shapes, bool(layer.trainable), within, _joined(layer, teller))


def _config(value: Any) -> Any:
    """From Keras' own `get_config`: one of the user's is not called."""
    from feedline.fixes.identity.code import users

    method = getattr(type(value), "get_config", None)
    if method is None or users(method):
        return None
    try:
        return _without_names(value.get_config())
    except Exception:  # Keras cannot tell; the class and the weights must do
        return None


def _without_names(value: Any) -> Any:
    if isinstance(value, Mapping):
        if value.get("class_name") == "__lambda__":  # its code is told apart
            return "lambda"
        return {
            str(name): _without_names(item)
            for name, item in value.items()
            if name not in _LEFT_OUT or isinstance(item, Mapping)
        }
    if isinstance(value, list | tuple):
        return [_without_names(item) for item in value]
    return value


def _joined(model: Any, teller: Teller) -> Any:
    """How the operations of a functional model feed each other."""
    by_depth = keras_private.nodes_by_depth.get(model)
    if not by_depth:
        return None
    nodes = [node for depth in sorted(by_depth) for node in by_depth[depth]]
    places = {id(op): place for place, op in enumerate(keras_private.operations(model))}

    def source(tensor: Any) -> Any:
        history = keras_private.keras_history.get(tensor)
        if history is None:
            return teller.tell(tensor)
        return (places.get(id(history.operation)), *history[1:])

    joined = []
    for node in nodes:
        fed = [source(each) for each in node.input_tensors]
        given = {
            name: value
            for name, value in node.arguments.kwargs.items()
            if not keras_private.keras_history.on(value)
        }
        joined.append((places.get(id(node.operation)), fed, teller.tell(_plain(given))))
    told = [teller.tell(op) for op in keras_private.operations(model)]
    return sorted(joined, key=repr), told


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    return {n: v for n, v in given.items() if isinstance(v, bool | int | float | str)}


# -------------------------------------------------------- a loop of the script's


def _source(where: Where | None) -> str:
    """The innermost loop around this line, as it is written but for comments."""
    if where is None:
        return ""
    try:
        tree = ast.parse("".join(linecache.getlines(where.file)))
    except (SyntaxError, ValueError, RecursionError):
        return ""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.While | ast.AsyncFor)
        and node.lineno <= where.line <= (node.end_lineno or 0)
    ]
    if not around:
        return ""
    return digest(ast.dump(max(around, key=lambda node: node.lineno)))


def _step_function(loop: Any) -> Any:
    """The function that is the step, or its code where it is not to be found."""
    code = loop.step_code
    if loop.step_function is not None or code is None:
        return loop.step_function
    found = [
        each
        for each in gc.get_referrers(code)
        if isinstance(each, types.FunctionType) and each.__code__ is code
    ]
    return found[0] if len(found) == 1 else code
