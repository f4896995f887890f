"""What a Python function can be seen to use: is it pure, is it TensorFlow's?

Nothing is run. The compiled code of the function, and of the user's functions
that it calls, is looked through for what it stores and for the names it uses; what
it makes for itself it may change (`own.py`). Files count as part of the data. A
function that keeps state gives other elements in several processes than in one;
that is `pure=False` where it can be seen, and `pure=None` where it cannot be
ruled out. Whether to take the risk is for the caller.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import io
import random
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from feedline.job.private.tensorflow import AUTOGRAPH_PACKAGE
from feedline.job.source.fresh_values import changes_only_its_own, opens_to_read
from feedline.job.source.lines import is_library
from feedline.job.source.mutating import CHANGING
from feedline.job.tfdata.functions import closure, unwrapped

_MOST_FUNCTIONS = 200
_TENSORFLOW = ("tensorflow", "keras", "tf_keras", "tensorflow_text", "tensorflow_io")
_DRAWING = ("random", "numpy.random", "secrets", "uuid")
# Modules whose functions give the same for the same arguments.
_CALCULATING = {
    *("math", "cmath", "numpy", "itertools", "functools", "operator", "struct", "re"),
    *("collections", "string", "json", "base64", "zlib", "hashlib", "binascii"),
    *("statistics", "bisect", "heapq", "unicodedata", "builtins", "_operator", "copy"),
    *("textwrap", "html", "decimal", "fractions", "ml_dtypes", "_struct", "_json"),
    *("posixpath", "ntpath", "genericpath"),
}
# Functions of libraries that keep state elsewhere, which look at files and images.
_LOOKING = {
    *("PIL.Image.open", "PIL.Image.fromarray"),
    *("cv2.imread", "cv2.imdecode", "cv2.resize", "cv2.cvtColor"),
}
_IMPURE_BUILTINS = {"input", "exec", "eval", "globals", "setattr", "delattr", "next"}
_UNCERTAIN_BUILTINS = {"open", "vars", "locals", "__import__", "getattr", "iter"}
_SOURCES_OF_CHANCE = {"default_rng", "RandomState", "Random", "Generator", "PCG64"}
_STORES = {"STORE_GLOBAL", "DELETE_GLOBAL"}
_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"}


_FIXED = (
    *(bool, int, float, complex, str, bytes, tuple, frozenset, type(None), type),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType),
)


@dataclass(frozen=True)
class Purity:
    """`pure`: True where all that the function uses is known to keep no state,
    False where it is seen to keep some, None where nobody can tell. `opens`: it
    opens files, and one of them may be a pipe."""

    pure: bool | None
    reasons: tuple[str, ...] = ()
    opens: bool = False


def purity(func: Callable[..., Any]) -> Purity:
    """Does `func` give the same for the same arguments, and change nothing?"""
    look = _Look()
    look.at(func)
    if look.seen:
        return Purity(False, tuple(dict.fromkeys(look.seen)), look.opens)
    if look.doubts:
        return Purity(None, tuple(dict.fromkeys(look.doubts)), look.opens)
    return Purity(True, opens=look.opens)


def tensorflow_in(func: Callable[..., Any]) -> str | None:
    """What of TensorFlow the function uses, None where nothing is seen."""
    look = _Look()
    look.at(func)
    return look.tensorflow[0] if look.tensorflow else None


def bound_to_here(func: Callable[..., Any]) -> str | None:
    """What the function holds that a forked process must not share: an open
    file, a connection, an iterator that is used up as it is read."""
    look = _Look()
    look.at(func)
    return look.bound[0] if look.bound else None


class _Look:
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.doubts: list[str] = []
        self.tensorflow: list[str] = []
        self.bound: list[str] = []
        self.opens = False
        self._done: set[int] = set()

    def at(self, func: Any) -> None:
        waiting = [func]
        while waiting:
            if len(self._done) > _MOST_FUNCTIONS:
                self.doubts.append("it calls very many functions")
                return
            one = waiting.pop()
            if id(one) not in self._done:
                self._done.add(id(one))
                waiting += self._one(one)

    def _one(self, func: Any) -> Iterator[Any]:
        if isinstance(func, functools.partial):
            for value in (*func.args, *func.keywords.values()):
                yield from self._value("an argument of partial", value)
        func = unwrapped(func)
        owner = getattr(func, "__self__", None)
        if owner is not None and not inspect.ismodule(owner):
            yield from self._object(owner)
        func = getattr(func, "__func__", func)
        if not hasattr(func, "__code__"):
            call = inspect.getattr_static(type(func), "__call__", None)
            if hasattr(call, "__code__"):
                yield from self._object(func)
                func = call
            else:
                self._opaque(func)
                return
        yield from self._code(func.__code__, func)

    def _object(self, owner: Any) -> Iterator[Any]:
        """What an object holds may be what its method uses."""
        if _is_tensorflow(type(owner)) and type(owner).__module__ != "__main__":
            self.tensorflow.append(type(owner).__name__)
        for name, value in getattr(owner, "__dict__", {}).items():
            yield from self._value(f"self.{name}", value)

    def _code(self, code: types.CodeType, func: Any) -> Iterator[Any]:
        inside = closure(func)
        around = getattr(func, "__globals__", {})
        at = code.co_qualname if hasattr(code, "co_qualname") else code.co_name
        own = set(code.co_cellvars)
        translated = "__autograph_generated_file" in code.co_filename
        chain: Any = None
        held: list[str] = []  # what is not its own and could be written into
        changing: list[str] = []
        written = False
        for step in dis.get_instructions(code):
            name = step.argval if isinstance(step.argval, str) else ""
            if step.opname in _STORES:
                self.seen.append(f"{at} changes the global {name}")
            elif step.opname == "STORE_DEREF" and name not in own:
                # AutoGraph's translation of a loop looks like this as well.
                notes = self.doubts if translated else self.seen
                notes.append(f"{at} changes {name} of the function around it")
            elif step.opname in ("STORE_ATTR", "DELETE_ATTR"):
                self.doubts.append(f"{at} sets .{name} of an object")
            elif step.opname in ("STORE_SUBSCR", "DELETE_SUBSCR"):
                written = True
                if chain is not None:
                    self.seen.append(f"{at} changes an item of what is not its own")
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
                if name in CHANGING:
                    changing.append(f"{at} calls .{name}(), which may change things")
                if inspect.ismodule(chain):
                    chain = getattr(chain, name, None)
                    yield from self._value(f"{at} uses .{name}", chain)
                else:
                    chain = None
                continue
            elif step.opname == "IMPORT_NAME":
                chain = sys.modules.get(name.partition(".")[0])
                yield from self._value(f"{at} imports {name}", sys.modules.get(name))
                continue
            elif step.opname in _LOADS:
                if name in own:
                    continue
                if name == "ag__":  # AutoGraph's own hand in a translation
                    chain = None
                    continue
                value = inside.get(
                    name, around.get(name, getattr(builtins, name, None))
                )
                self.opens |= value is open
                if value is open and opens_to_read(func):
                    chain = None
                    continue
                chain = value
                if not isinstance(value, _FIXED) and not inspect.ismodule(value):
                    held.append(name)
                yield from self._value(f"{at} uses {name}", value)
                continue
            elif step.opname == "LOAD_CONST" and isinstance(
                step.argval, types.CodeType
            ):
                yield types.FunctionType(
                    step.argval,
                    around,
                    closure=tuple(
                        types.CellType(inside[free])
                        if free in inside
                        else types.CellType()
                        for free in step.argval.co_freevars
                    ),
                )
            if step.opname not in ("PUSH_NULL", "CACHE", "PRECALL", "LOAD_CONST"):
                chain = chain if step.opname.startswith("LOAD_FAST") else None
        if written and held:
            # `n[0] += 1`: whether the item written is of `n` or of an own list
            # cannot be told from the instructions.
            changing.append(f"{at} sets items and has {', '.join(held)} at hand")
        if changing and not changes_only_its_own(func):
            self.doubts += changing

    def _value(self, how: str, value: Any) -> Iterator[Any]:
        """Something that the function has at hand."""
        if _is_autograph(value):
            return
        if _is_tensorflow(value):
            self.tensorflow.append(how)
        elif isinstance(value, io.IOBase) or _is_connection(value):
            self.bound.append(f"{how}, which is open")
            self.seen.append(f"{how}, which is open")
        elif isinstance(value, random.Random) or _is_generator(value):
            self.seen.append(f"{how}, which draws random numbers in turn")
        elif hasattr(value, "__next__") and not inspect.isclass(value):
            self.bound.append(f"{how}, an iterator")
            self.seen.append(f"{how}, an iterator that is used up")
        elif inspect.ismodule(value):
            return  # what is taken from it counts
        elif getattr(value, "__name__", "") in _SOURCES_OF_CHANCE and _chance(value):
            self.doubts.append(f"{how}, whose seed cannot be seen")
        elif _module(value) in ("time", "datetime", "os") and callable(value):
            if getattr(value, "__name__", "") not in ("sleep", "fspath"):
                self.doubts.append(f"{how}, which reads from outside")
        elif inspect.isclass(value):
            if not _calculates(value):
                self.doubts.append(f"{how}, of which little is known")
        elif inspect.isroutine(value) or callable(value):
            if _draws(value):
                self.seen.append(f"{how}, which draws random numbers")
            elif is_user(value):
                yield value
            else:
                self._opaque(value, how)
        elif isinstance(value, list | dict | set | bytearray):
            pass  # reading is harmless; changing it is seen by itself

    def _opaque(self, func: Any, how: str = "") -> None:
        name = getattr(func, "__name__", type(func).__name__)
        if getattr(builtins, name, None) is func:
            if name in _IMPURE_BUILTINS:
                self.seen.append(f"{how or name}, which depends on more than arguments")
            elif name in _UNCERTAIN_BUILTINS:
                self.doubts.append(f"{how or name}, which reads from outside")
        elif not _calculates(func):
            self.doubts.append(f"{how or name}, of which little is known")


def _module(value: Any) -> str:
    if inspect.ismodule(value):
        return value.__name__
    named = getattr(value, "__module__", None)
    return named if isinstance(named, str) else type(value).__module__


def _is_autograph(value: Any) -> bool:
    """What its translations of the user's code hold: harmless, and not his."""
    return type(value).__module__.startswith(AUTOGRAPH_PACKAGE)


def _is_tensorflow(value: Any) -> bool:
    if value is None or isinstance(value, str | bytes | int | float):
        return False
    kinds = (type(value),) if not inspect.isclass(value) else (value,)
    modules = [_module(value), *(kind.__module__ for kind in kinds)]
    return any(name.partition(".")[0] in _TENSORFLOW for name in modules)


def _calculates(value: Any) -> bool:
    owner = getattr(value, "__self__", None)
    if inspect.ismodule(owner):
        value = owner
    if f"{_module(value)}.{getattr(value, '__name__', '')}" in _LOOKING:
        return True
    return _module(value).partition(".")[0] in _CALCULATING


def _draws(value: Any) -> bool:
    owner = getattr(value, "__self__", None)
    return isinstance(owner, random.Random) or _is_generator(owner) or _chance(value)


def _chance(value: Any) -> bool:
    return _module(value).startswith(_DRAWING)


def _is_generator(value: Any) -> bool:
    """One of NumPy's."""
    return (
        type(value).__module__.startswith("numpy.random")
        and not inspect.isclass(value)
        and not inspect.isroutine(value)
    )


def _is_connection(value: Any) -> bool:
    kind = type(value)
    return f"{kind.__module__}.{kind.__name__}" in (
        *("socket.socket", "sqlite3.Connection", "sqlite3.Cursor", "ssl.SSLSocket"),
        *("_thread.lock", "_thread.RLock", "h5py._hl.files.File"),
    )


def is_user(value: Any) -> bool:
    """Is it Python that the user wrote, and not a library's?"""
    code = getattr(unwrapped(getattr(value, "__func__", value)), "__code__", None)
    if code is None:
        call = inspect.getattr_static(type(value), "__call__", None)
        code = getattr(call, "__code__", None)
    return code is not None and not is_library(code.co_filename)
