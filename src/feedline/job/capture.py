"""Runs a user's script as `python SCRIPT ARGS` would, and catches its job.

This is the child process: feedline's command starts it, so that a script that
is killed, exits or runs out of memory takes nothing of ours with it. The script
finds the `__main__`, `sys.argv`, `sys.path`, working directory and standard
streams that it would find without us.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import tokenize
import traceback
import types
from collections.abc import Callable
from typing import Any

from feedline.errors import ScriptError
from feedline.job import source
from feedline.job.watch import ScriptStopped, Watch


def run(target: list[str], *, module: bool, watch: Watch) -> int:
    """Run it to its end or until the watch stops it; returns its exit code.

    Its own error is printed as Python prints it, our frames left out.
    """
    code, main, path = _load_module(target) if module else _load_script(target)
    source.own(os.path.dirname(os.path.abspath(path)))
    from feedline.job import hooks

    installed = hooks.install(watch)
    sys.argv[:] = [path, *target[1:]]
    sys.modules["__main__"] = main
    os.register_at_fork(after_in_child=lambda: setattr(watch, "on", False))
    try:
        exec(code, main.__dict__)
    except ScriptStopped:
        return 0
    except SystemExit as leaving:
        return _exit_code(leaving)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if watch.done and _caused_by_stop(error):
            return 0
        _show(error)
        return 1
    finally:
        watch.on = False
        installed.remove()
    return 0


def check(target: list[str], *, module: bool) -> None:
    """Raise a clear error before anything is started."""
    if module:
        return
    path = target[0]
    if os.path.isdir(path):
        if not os.path.exists(os.path.join(path, "__main__.py")):
            raise ScriptError(
                f"{path} is a directory without __main__.py; name the script in it"
            )
    elif not os.path.exists(path):
        raise ScriptError(f"there is no file {path!r} to run; check the path")


def _load_script(target: list[str]) -> tuple[types.CodeType, types.ModuleType, str]:
    path = target[0]
    check(target, module=False)
    sys.path[0:1] = [os.path.dirname(os.path.abspath(path))]
    if os.path.isdir(path):
        sys.path[0] = os.path.abspath(path)
        path = os.path.join(path, "__main__.py")
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__dict__["__builtins__"] = __builtins__
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError as error:
        raise ScriptError(f"cannot read {path}: {error.strerror}") from None
    if b"\0" in text:
        raise ScriptError(
            f"{path} is not Python source: it holds NUL bytes. Give the script that "
            "trains, not its data or a compiled file"
        )
    try:
        return compile(text, path, "exec", dont_inherit=True), main, path
    except (SyntaxError, ValueError, tokenize.TokenError) as error:
        shown = "".join(traceback.format_exception_only(error)).rstrip()
        raise ScriptError(f"{path} is not valid Python:\n{shown}") from None


def _load_module(target: list[str]) -> tuple[types.CodeType, types.ModuleType, str]:
    name = target[0]
    sys.path[0:1] = [os.getcwd()]
    for candidate in (name, f"{name}.__main__"):
        try:
            spec = importlib.util.find_spec(candidate)
        except (ImportError, ValueError) as error:
            raise ScriptError(f"cannot find module {name!r}: {error}") from None
        if spec is None:
            raise ScriptError(f"there is no module {name!r} to run; check the name")
        if spec.submodule_search_locations is None:
            break
    assert spec is not None
    loader: Any = spec.loader
    code = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
    if code is None or spec.origin is None:
        raise ScriptError(f"module {name!r} has no Python code to run")
    main = types.ModuleType("__main__")
    main.__file__ = spec.origin
    main.__spec__ = spec
    main.__package__ = spec.name.rpartition(".")[0]
    main.__dict__["__builtins__"] = __builtins__
    return code, main, spec.origin


def _exit_code(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1


def _caused_by_stop(error: BaseException | None) -> bool:
    """Did stopping the script make its own clean-up fail?"""
    while error is not None:
        if isinstance(error, ScriptStopped):
            return True
        error = error.__cause__ or error.__context__
    return False


def _show(error: BaseException) -> None:
    """As Python would, without the frames of ours that stand around."""
    trace = error.__traceback__
    while trace is not None and source.is_library(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    sys.stdout.flush()
    traceback.print_exception(type(error), error, trace or error.__traceback__)


def leave(code: int, then: Callable[[], None] = lambda: None) -> None:
    """End this process as Python does, but without waiting for threads that the
    script left behind once the verdict is in."""
    then()
    sys.stdout.flush()
    sys.stderr.flush()
    others = [t for t in threading.enumerate() if t is not threading.main_thread()]
    if any(not thread.daemon for thread in others):
        os._exit(code)
    sys.exit(code)
