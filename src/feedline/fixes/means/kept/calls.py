"""A function whose results are kept while a stage makes its elements.

It stays the same object, under every name that the script has for it; only the code
behind it is another (`on`), and its own again afterwards (`off`). What it returns is a
copy of what was kept. What it raises is raised anew each time.
"""

from __future__ import annotations

import time
import types
import warnings
from collections.abc import Callable
from typing import Any

from feedline.fixes.means.kept import scope
from feedline.fixes.means.kept.files import Files, stamp_of, watched
from feedline.fixes.means.kept.memory import Memory
from feedline.fixes.means.kept.reads import Reads
from feedline.fixes.means.kept.values import CannotKeep, copied, key_of

_LOOKED_AT = 64  # calls after which a function is judged by what it costs
_WORTH_S = 50e-6  # shorter calls are sooner made than found

LISTED = {("keras.src.utils.image_utils", "load_img"): True}
"""Functions of libraries that read one file and keep nothing."""


class Kept:
    """`opens`: it reads files, which must be known to be the same."""

    def __init__(
        self, function: Any, memory: Memory, *, me: Any = None, opens: bool = False
    ) -> None:
        self.function = function
        self.name: str = function.__qualname__
        self.memory = memory
        self.opens = opens
        self.me = me
        listed = (function.__module__, function.__name__) in LISTED
        self._reads = None if listed else Reads(function, me)
        self._own = _written(function)
        self._original = types.FunctionType(
            self._own,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        self._original.__kwdefaults__ = function.__kwdefaults__
        self._calls = 0
        self._seconds = 0.0
        self.given_up = False
        self.used = False  # was any result of it kept?

    # ------------------------------------------------------------------ in its place

    def on(self) -> None:
        if self.function.__code__ is self._own:
            self.function.__code__ = _calling(self, self._own)

    def off(self) -> None:
        if self.function.__code__ is not self._own:
            self.function.__code__ = self._own

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if (
            self.given_up
            or not scope.here()
            or (self.me is not None and args[:1] != () and args[0] is not self.me)
        ):
            return self._original(*args, **kwargs)
        try:
            key = self._key(args, kwargs)
        except (CannotKeep, ValueError, AttributeError):
            return self._original(*args, **kwargs)
        known = self.memory.get(key)
        if known is not None:
            value, files, size, took = known
            if files.unchanged():
                self.memory.found += 1
                self.memory.saved_s += took
                return copied(value)[0]
            self.memory.drop(key, size)
        return self._made(key, args, kwargs)

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        own = args[1:] if self.me is not None else args
        named = tuple((name, key_of(value)) for name, value in sorted(kwargs.items()))
        reads = self._reads.key() if self._reads is not None else ()
        return id(self), tuple(map(key_of, own)), named, reads

    def _made(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        begin = time.perf_counter()
        with scope.outside(), watched() as files:
            for each in (*args, *kwargs.values()):
                if isinstance(each, str) and stamp_of(each) is not None:
                    files.opened(each, "r")
            result = self._original(*args, **kwargs)
        took = time.perf_counter() - begin
        self.memory.made += 1
        self._calls += 1
        self._seconds += took
        if self._calls == _LOOKED_AT and self._seconds / self._calls < _WORTH_S:
            self.given_up = True
            return result
        if self._may_be_kept(files):
            try:
                value, size = copied(result)
            except CannotKeep:
                return result
            if self.memory.put(key, (value, files, size, took), size):
                self.used = True
        return result

    def _may_be_kept(self, files: Files) -> bool:
        """What was read must be known, and be as it was before the call."""
        if files.unknown or (self.opens and not files.stamps):
            return False
        return files.unchanged()


def _written(function: Any) -> types.CodeType:
    """The script's own code, also where another of us stands in its place just now."""
    code: types.CodeType = function.__code__
    for each in code.co_consts:
        if isinstance(each, Kept):
            return each._own
    return code


def _calling(kept: Kept, own: types.CodeType) -> types.CodeType:
    """Code that hands its arguments to `kept`, which stands among its constants: no
    name of the script's is needed to find it. It has the free variables of the code
    in whose place it is, as Python asks for."""
    return _TEMPLATE.replace(
        co_consts=tuple(
            kept if each == _HERE else each for each in _TEMPLATE.co_consts
        ),
        co_freevars=own.co_freevars,
        co_name=own.co_name,
        co_filename=own.co_filename,
        co_firstlineno=own.co_firstlineno,
    )


_HERE = "the function whose results are kept"


def _template() -> types.CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made: dict[str, Callable[..., Any]] = {}
        exec(f"def f(*a, **k): return {_HERE!r}(a, k)", made)
    return made["f"].__code__


_TEMPLATE = _template()
