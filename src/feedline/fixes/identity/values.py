"""Plain values, arrays and tensors, told by content.

What comes back is made of tuples, numbers and strings: its `repr` says what it is. Of
an array that is large only the type, the shape and some of its values are told; a
variable is told by its type and shape, because training changes what it holds.
"""

from __future__ import annotations

import enum
import hashlib
import sys
from collections.abc import Callable
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from feedline.fixes.identity.part import digest
from feedline.job.private import tensorflow as tf_private

_WHOLE = 2**20
_SAMPLED = 4096
_MOST_ITEMS = 100_000
_SCALARS = (bool, int, float, complex, str, bytes, type(None), type(...))

Tell = Callable[[Any], Any]
OTHER: Any = object()
"""What `plain` answers for a value that is not plain."""


def plain(value: Any, tell: Tell) -> Any:
    """`tell` is asked for what a container holds."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if isinstance(value, enum.Enum):
        return (kind.__qualname__, value.name)
    if isinstance(value, PurePath):
        return ("path", str(value))
    if isinstance(value, bytearray | memoryview):
        return ("bytes", hashlib.blake2b(value, digest_size=16).hexdigest())
    if isinstance(value, range | slice):
        return repr(value)
    if isinstance(value, list | tuple):
        return (kind.__name__, len(value), *map(tell, some(list(value))))
    if isinstance(value, set | frozenset):
        return (kind.__name__, len(value), *some(sorted(map(_in_a_set, value))))
    if isinstance(value, dict | MappingProxyType):
        pairs = [(tell(name), tell(item)) for name, item in some(list(value.items()))]
        return (kind.__name__, len(value), *pairs)
    return _of_libraries(value)


def _in_a_set(item: Any) -> str:
    """Their order is another in every run, so what they hold is not gone into."""
    if type(item) is tuple:
        return repr(tuple(map(_in_a_set, item)))
    return repr(item) if type(item) in _SCALARS else type(item).__qualname__


def some(items: list[Any]) -> list[Any]:
    """All of them, or so many spread over the whole."""
    step = max(1, len(items) // _MOST_ITEMS)
    return items[::step]


def _of_libraries(value: Any) -> Any:
    numpy, tensorflow = sys.modules.get("numpy"), sys.modules.get("tensorflow")
    if numpy is not None and isinstance(value, numpy.ndarray | numpy.generic):
        return array(value)
    if numpy is not None and isinstance(value, numpy.dtype):
        return str(value)
    if tensorflow is None:
        return OTHER
    if isinstance(value, tensorflow.DType | tensorflow.TensorShape):
        return str(value)
    if isinstance(value, tensorflow.TypeSpec):
        return repr(value)
    if tensorflow.is_tensor(value) or isinstance(value, tensorflow.Variable):
        return tensor(value)
    return OTHER


def array(value: Any) -> Any:
    """A NumPy array."""
    import numpy as np

    value = np.asarray(value)
    told = ("array", str(value.dtype), value.shape)
    if value.dtype == object:
        flat = [item for item in value.flat if isinstance(item, str | bytes)]
        return (*told, digest([len(flat), *flat[:_SAMPLED]]))
    if value.nbytes > _WHOLE:
        places = np.linspace(0, value.size - 1, _SAMPLED).astype(np.int64)
        value = value[np.unravel_index(places, value.shape)]
    content = np.ascontiguousarray(value).tobytes()
    return (*told, hashlib.blake2b(content, digest_size=16).hexdigest())


def tensor(value: Any) -> Any:
    """One of TensorFlow's, by what it holds if it holds values that stay."""
    import tensorflow as tf

    kind = type(value).__name__
    if isinstance(value, tf.Variable):
        return ("variable", value.dtype.name, str(value.shape))
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    name = getattr(dtype, "name", str(dtype))
    if name == "resource":
        held = tf_private.handle_data.get(value)
        shapes = [str(each.dtype) for each in held.shape_and_type] if held else []
        return ("resource", *shapes)
    if not isinstance(value, tf.Tensor) or not hasattr(value, "numpy"):
        return (kind, name, str(shape))
    return (name, array(value.numpy())) if name != "variant" else (name,)
