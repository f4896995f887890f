"""What the user's Python inside of a pipeline reads besides its arguments.

That it keeps no state is for `source/purity.py` to say. But a function may also read
a number, a list or an array of somebody else's, which the script may change between
two epochs. These values are found here, so that they can be looked at again; where
one is of a kind that nobody can look at (an object, a module of the user's, a file,
anything of TensorFlow's), nothing that the function made is kept.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from feedline.fixes.means.store.graphs import Unknown, digest, nodes_of
from feedline.job.private import tensorflow as tf_private
from feedline.job.source.purity import purity
from feedline.job.source.users import is_user, without_tensorflow
from feedline.job.source.uses import tensorflow_in
from feedline.job.tfdata.functions import closure

PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic)
_MODULES = {
    *("math", "cmath", "numpy", "itertools", "functools", "operator", "struct", "re"),
    *("collections", "string", "json", "base64", "zlib", "binascii", "statistics"),
    *("bisect", "heapq", "unicodedata", "copy", "textwrap", "html", "decimal"),
    *("fractions", "ml_dtypes", "time"),
}
# Of these modules, and of paths and images: what looks outside.
_LOOKING = {
    *("load", "loads_file", "fromfile", "loadtxt", "genfromtxt", "memmap", "fromregex"),
    *("open", "open_memmap", "DataSource", "imread", "imreadmulti", "read_text"),
    *("read_bytes", "exists", "lexists", "isfile", "isdir", "islink", "getsize"),
    *("getmtime", "getatime", "getctime", "abspath", "realpath", "environ", "getenv"),
    *("expanduser", "expandvars", "stat", "listdir", "glob", "walk", "scandir"),
    *("time_ns", "perf_counter", "monotonic", "localtime", "gmtime", "strftime"),
    *("getcontext", "geterr", "get_printoptions", "time", "ctime", "asctime"),
}
_MOST_ITEMS = 200_000
_MOST_FUNCTIONS = 100

State = Callable[[], bytes]


def values_read(traced: Any) -> Iterator[tuple[str, State]]:
    """What the Python in a traced function reads: how to say it, how to look at it.
    Raises `Unknown` where that cannot be told."""
    from feedline.job.private.tensorflow import script_ops

    for node in nodes_of(traced):
        if node.op in PYTHON:
            function = script_ops._py_funcs.get(node.attr["token"].s.decode())
            yield from _Reads().of(tf_private.func.get(function, function))


class _Reads:
    def __init__(self) -> None:
        self._done: set[int] = set()

    def of(self, function: Any) -> Iterator[tuple[str, State]]:
        function = without_tensorflow(function)
        if isinstance(function, functools.partial):
            for value in (*function.args, *function.keywords.values()):
                yield "an argument of partial", _same(_giving(value))
            function = without_tensorflow(function.func)
        if id(function) in self._done:
            return
        self._done.add(id(function))
        if not isinstance(function, types.FunctionType):
            raise Unknown(f"Python that is not a plain function: {function!r:.60}")
        if len(self._done) > _MOST_FUNCTIONS:
            raise Unknown("Python that calls very many functions")
        found = purity(function)
        if found.pure is not True or found.opens:
            raise Unknown(f"Python that may read anything, in {function.__name__}")
        if used := tensorflow_in(function):
            raise Unknown(f"Python that uses TensorFlow: {used}")
        for name, value in _given(function):
            yield name, _same(_giving(value))
        yield from self._code(function, function.__code__)

    def _code(self, function: Any, code: Any) -> Iterator[tuple[str, State]]:
        for name in sorted(_LOOKING.intersection(code.co_names)):
            raise Unknown(f"Python that may look outside: {name}")
        for name in (*code.co_names, *code.co_freevars):
            yield from self._name(function, name)
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                yield from self._code(function, inner)

    def _name(self, function: Any, name: str) -> Iterator[tuple[str, State]]:
        """`co_names` also has the names of attributes: a global of the same name is
        looked at for nothing, which does no harm."""
        look = functools.partial(_bound, function, name)
        value = look()
        if value is _MISSING:
            return
        if inspect.ismodule(value):
            if value.__name__.partition(".")[0] not in _MODULES:
                raise Unknown(f"Python that uses the module {value.__name__}")
            yield name, _itself(look)
        elif isinstance(value, types.FunctionType) and is_user(value):
            yield name, _itself(look)
            yield from self.of(value)
        elif inspect.isroutine(value) or inspect.isclass(value):
            yield name, _itself(look)
        else:
            yield name, _same(look)


_MISSING = object()


def _bound(function: Any, name: str) -> Any:
    """What a name means in a function now."""
    inside = closure(function)
    if name in inside:
        return inside[name]
    found = function.__globals__.get(name, _MISSING)
    return getattr(builtins, name, _MISSING) if found is _MISSING else found


def _given(function: Any) -> Iterator[tuple[str, Any]]:
    for value in function.__defaults__ or ():
        yield "a default of an argument", value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield name, value


def _giving(value: Any) -> Callable[[], Any]:
    return lambda: value


def _itself(look: Callable[[], Any]) -> State:
    """The very same object: what it does was judged when it was first seen."""
    held = look()  # so that no other gets its id
    return lambda: digest(look() is held)


def _same(look: Callable[[], Any]) -> State:
    _digest(look())  # raises where it cannot be looked at
    return lambda: _digest(look())


def _digest(value: Any) -> bytes:
    left = [_MOST_ITEMS]
    return digest(*_parts(value, left))


def _parts(value: Any, left: list[int]) -> Iterator[object]:
    left[0] -= 1
    if left[0] < 0:
        raise Unknown("Python that reads very large lists")
    if type(value) in _PLAIN or isinstance(value, np.generic):
        yield (type(value).__name__, repr(value))
    elif type(value) is np.ndarray and value.dtype != object:
        left[0] -= value.nbytes // 256
        yield (value.dtype.str, value.shape)
        yield np.ascontiguousarray(value).tobytes()
    elif type(value) in (list, tuple):
        yield (type(value).__name__, len(value))
        for one in value:
            yield from _parts(one, left)
    elif type(value) in (set, frozenset):
        yield (type(value).__name__, sorted(map(repr, value)))
        for one in value:
            if type(one) not in _PLAIN:
                raise Unknown(f"a set of {type(one).__name__}")
    elif type(value) is dict:
        yield ("dict", len(value))
        for key, one in value.items():
            yield from _parts(key, left)
            yield from _parts(one, left)
    else:
        raise Unknown(f"Python that reads a {type(value).__name__}")
