"""What may be kept and given again: values of which a copy is as good.

An array must lie in one piece: another layout may be summed in another order. Nothing
is kept that stands twice in a value, or whose type could hold more than can be seen.
"""

from __future__ import annotations

import pathlib
import struct
import sys
from typing import Any

import numpy as np

PLAIN = (bool, int, complex, str, bytes, type(None), pathlib.PosixPath)
_OVERHEAD = 64


class CannotKeep(Exception):
    """This value, or what a function reads, is of a kind that is not kept."""


def copied(value: Any) -> tuple[Any, int]:
    """A copy that shares nothing with the original, and its bytes."""
    return _copied(value, set())


def _copied(value: Any, seen: set[int]) -> tuple[Any, int]:
    kind = type(value)
    if kind in PLAIN or kind is float or isinstance(value, np.generic):
        return value, _OVERHEAD + sys.getsizeof(value)
    if id(value) in seen:
        raise CannotKeep("a value that stands in it twice")
    seen.add(id(value))
    if kind is np.ndarray:
        return _array(value), _OVERHEAD + value.nbytes
    if kind in (tuple, list):
        pairs = [_copied(each, seen) for each in value]
        return kind(each for each, _ in pairs), _OVERHEAD + sum(n for _, n in pairs)
    if kind is dict and all(type(key) in PLAIN for key in value):
        made = {key: _copied(each, seen) for key, each in value.items()}
        size = _OVERHEAD + sum(n for _, n in made.values())
        return {key: each for key, (each, _) in made.items()}, size
    if f"{kind.__module__}.{kind.__qualname__}" == "PIL.Image.Image":
        return _picture(value)
    raise CannotKeep(f"a {kind.__name__}")


def _array(value: Any) -> Any:
    if value.dtype.hasobject or not (
        value.flags.c_contiguous or value.flags.f_contiguous
    ):
        raise CannotKeep("an array that does not lie in one piece")
    made = value.copy(order="C" if value.flags.c_contiguous else "F")
    made.flags.writeable = value.flags.writeable
    return made


def _picture(value: Any) -> tuple[Any, int]:
    if value.mode not in ("L", "RGB", "RGBA", "F", "I"):
        raise CannotKeep(f"a picture of mode {value.mode}")
    made = value.copy()
    ours, theirs = dict(vars(made)), dict(vars(value))
    ours.pop("_im", None), theirs.pop("_im", None)
    if ours != theirs:
        raise CannotKeep("a picture with more to it than its pixels")
    return made, _OVERHEAD + 4 * value.size[0] * value.size[1]


def key_of(value: Any) -> Any:
    """What stands for an argument: equal where the value is the same to the bit."""
    kind = type(value)
    if kind in PLAIN:
        return kind, value
    if kind is float:
        return kind, struct.pack("d", value)
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return value.dtype.str, value.tobytes()
    if kind is tuple:
        return kind, tuple(map(key_of, value))
    raise CannotKeep(f"a {kind.__name__}")
