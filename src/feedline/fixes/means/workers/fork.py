"""A copy of this process, made while its other threads compute.

`os.fork` first does what libraries have asked for. OpenBLAS, which NumPy multiplies
with, ends its threads there; whoever is in the middle of a product then waits for
them for ever, and the job stands still. So nothing but Python is made ready here
(`_Fork` of glibc 2.34 and musl 1.2.2 asks nobody), in machine code: were bytecode to
run between the steps, the copy might wait for an interpreter's lock that nobody
gives back.

In the copy the other threads are gone, and no library was told: each computes with
one thread there (`compute_alone`, found before, as to search may need a lock).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from feedline.fixes.means.errors import Refused


def fork() -> int:
    pid = _forking()()
    if pid < 0:
        raise Refused("the system does not let a process be forked")
    return pid


def compute_alone() -> Callable[[], Any]:
    """Made before the fork; to be called in the copy."""
    with _or_refuse():
        from threadpoolctl import ThreadpoolController

        libraries = ThreadpoolController()
    return lambda: libraries.limit(limits=1)


@cache
def _forking() -> Callable[[], int]:
    with _or_refuse():
        import numba

        process = ctypes.PyDLL(None)
        ready = _function(process, "PyOS_BeforeFork")
        copy = _function(process, "_Fork", ctypes.c_int)
        in_the_copy = _function(process, "PyOS_AfterFork_Child")
        in_the_original = _function(process, "PyOS_AfterFork_Parent")

        @numba.njit(numba.int32())
        def all_of_it() -> int:
            ready()
            pid = copy()
            if pid == 0:
                in_the_copy()
            else:
                in_the_original()
            return int(pid)

    return all_of_it  # type: ignore[no-any-return]


@contextmanager
def _or_refuse() -> Iterator[None]:
    """Whatever is missing here, the job computes by itself."""
    try:
        yield
    except Exception as error:
        raise Refused(
            f"this system cannot fork a process beside running threads: {error}"
        ) from error


def _function(process: Any, name: str, result: Any = None) -> Any:
    found = getattr(process, name)
    found.argtypes, found.restype = [], result
    return found
