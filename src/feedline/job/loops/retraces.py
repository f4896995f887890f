"""Why a `tf.function` was traced again: which argument changed, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from feedline.job.private import tensorflow as tf_private

_SHOWN = 3


def reason(function: Any) -> str:
    """What its traces differ in; empty where TensorFlow does not tell."""
    try:
        traces = [
            _arguments(each)
            for each in tf_private.list_all_concrete_functions(function)()
        ]
    except Exception:  # not a tf.function, or one of another TensorFlow
        return ""
    if len(traces) < 2:
        return ""
    told = []
    for name in traces[0]:
        values = list(dict.fromkeys(each.get(name, "") for each in traces))
        if len(values) > 1:
            told.append(_changed(name, values))
    more = [f"{len(told) - _SHOWN} more"] if len(told) > _SHOWN else []
    return "; ".join([*told[:_SHOWN], *more])


def _arguments(concrete: Any) -> Mapping[str, str]:
    parameters = concrete.function_type.parameters
    return {
        place: _text(kind)
        for name, each in parameters.items()
        for place, kind in _parts(name, each.type_constraint)
    }


def _parts(name: str, kind: Any) -> Iterator[tuple[str, Any]]:
    """Of a list, a tuple or a dict each part, as a person would write it."""
    inside = getattr(kind, "components_tuple", kind)
    parts: Any = getattr(inside, "components", None)
    if isinstance(parts, list | tuple):
        for number, each in enumerate(parts):
            yield from _parts(f"{name}[{number}]", each)
    elif isinstance(mapping := getattr(kind, "mapping", None), Mapping):
        for key, each in mapping.items():
            yield from _parts(f"{name}[{key!r}]", each)
    else:
        yield name, kind


def _text(kind: Any) -> str:
    """A Python value as it is written, a tensor by type and shape."""
    if hasattr(kind, "value") and type(kind).__name__ == "Literal":
        return repr(kind.value)
    if hasattr(kind, "shape") and hasattr(kind, "dtype"):
        return f"{kind.dtype.name}{kind.shape}"
    return str(kind)


def _changed(name: str, values: list[str]) -> str:
    shown = ", ".join(value[:40] for value in values[:_SHOWN])
    more = ", ..." if len(values) > _SHOWN else ""
    tensors = all("(" in value for value in values)
    what = "a tensor of another shape or type" if tensors else "another Python value"
    return (
        f"argument {name!r} is {what} in {len(values):,} of the traces: {shown}{more}"
    )
