"""Runs a user's script as `python SCRIPT ARGS` would, under the eyes of a watch.

This happens in a child process: feedline's command starts it, so that a script
that is killed, exits or runs out of memory takes nothing of ours with it. The
script finds the `__main__`, `sys.argv`, `sys.path`, working directory and
standard streams that it would find without us.
"""

from __future__ import annotations

import atexit
import builtins
import importlib.machinery
import importlib.util
import os
import signal
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from feedline.errors import ScriptError
from feedline.job.private import tensorflow as tf_private
from feedline.job.script.watch import ScriptStopped, Watch
from feedline.job.source import lines


class Program(NamedTuple):
    """A script ready to run, with the `sys.argv[0]` that it will see."""

    code: types.CodeType
    main: types.ModuleType
    argv0: str


INTERRUPTED = -int(signal.SIGINT)
"""The exit code of a script that Ctrl-C has ended: as Python does, by the signal."""

Rewrite = Callable[[bytes, str], types.CodeType | None]
"""Compiles a script's text, of this path, otherwise; None where it has no need to."""


def run(
    target: list[str],
    *,
    module: bool,
    watch: Watch,
    rewrite: Rewrite | None = None,
    stops: bool = True,
    begin: Callable[[], None] = lambda: None,
    failed: Callable[[BaseException], None] = lambda _: None,
) -> int:
    """Run it to its end or until the watch stops it, if it `stops` at all; returns its
    exit code. `rewrite` may compile it otherwise. `begin` is called just before its
    first line, and what it raises is the script's; `failed` is told of an error that
    ends it.

    Its own error is shown as Python shows it, our frames left out.
    """
    program = load(target, module=module, rewrite=rewrite)
    lines.own(os.path.dirname(program.code.co_filename))
    from feedline.job.script import hooks

    installed = hooks.install(watch)
    sys.argv[:] = [program.argv0, *target[1:]]
    sys.orig_argv[:] = [sys.executable, *(["-m"] if module else []), *target]
    sys.modules["__main__"] = program.main
    if stops:
        threading.excepthook = _quiet(threading.excepthook)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: setattr(watch, "on", False))
    try:
        code = _execute(program, watch, begin, failed, stops)
        if not watch.stopped:
            _wait_for_threads()
        return code
    finally:
        watch.on = False
        installed.remove()


def _execute(
    program: Program,
    watch: Watch,
    begin: Callable[[], None],
    failed: Callable[[BaseException], None],
    stops: bool,
) -> int:
    try:
        begin()
        exec(program.code, program.main.__dict__)
    except ScriptStopped:
        return 0
    except SystemExit as leaving:
        return _exit_code(leaving)
    except KeyboardInterrupt as error:
        # Who stops `feedline why` does not want to see where the script was.
        if not stops or sys.excepthook is not sys.__excepthook__:
            show(error)
        return INTERRUPTED
    except BaseException as error:
        if watch.is_to_blame(error):
            return 0
        failed(error)
        show(error)
        return 1
    return 0


def _wait_for_threads() -> None:
    """As Python does: a thread of the script's may be the one that trains."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
    except KeyboardInterrupt as error:
        # Python goes on to its end here, and says so in these words.
        print(f"Exception ignored in: {threading!r}", file=sys.stderr)
        shown = error.with_traceback(_without_ours(error.__traceback__))
        traceback.print_exception(shown, file=sys.stderr)


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


def load(target: list[str], *, module: bool, rewrite: Rewrite | None = None) -> Program:
    """The program as Python would start it; `sys.path` is set for it."""
    return _load_module(target[0]) if module else _load_script(target[0], rewrite)


def _load_script(given: str, rewrite: Rewrite | None) -> Program:
    check([given], module=False)
    path = os.path.join(os.getcwd(), given)
    main = types.ModuleType("__main__")
    cached = None
    if os.path.isdir(path):
        _first_on_path(path)
        path = os.path.join(path, "__main__.py")
        spec = importlib.util.spec_from_file_location("__main__", path)
        main.__spec__, main.__package__ = spec, ""
        cached = spec.cached if spec is not None else None
    else:
        _first_on_path(os.path.dirname(os.path.realpath(path)))
    main.__file__ = path
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    _complete(main, cached)
    return Program(_compile(path, given, rewrite), main, given)


def _complete(main: types.ModuleType, cached: str | None) -> None:
    main.__dict__.update(__builtins__=builtins, __cached__=cached)
    if sys.version_info < (3, 14):
        main.__annotations__ = {}


def _compile(path: str, given: str, rewrite: Rewrite | None) -> types.CodeType:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError as error:
        raise ScriptError(f"cannot read {given}: {error.strerror}") from None
    if b"\0" in text:
        raise ScriptError(
            f"{given} is not Python source: it holds NUL bytes. Give the script that "
            "trains, not its data or a compiled file"
        )
    try:
        code = compile(text, path, "exec", dont_inherit=True)
        return (rewrite and rewrite(text, path)) or code
    except (SyntaxError, ValueError) as error:
        shown = "".join(traceback.format_exception_only(error)).rstrip()
        raise ScriptError(f"{given} is not valid Python:\n{shown}") from None


def _load_module(name: str) -> Program:
    _first_on_path(os.getcwd())
    for candidate in (name, f"{name}.__main__"):
        try:
            spec = importlib.util.find_spec(candidate)
        except (ImportError, ValueError) as error:
            raise ScriptError(f"cannot find module {name!r}: {error}") from None
        if spec is None:
            raise ScriptError(
                f"there is no module {candidate!r} to run; check the name"
            )
        if spec.submodule_search_locations is None:
            break
    assert spec is not None
    loader: Any = spec.loader
    try:
        code = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
    except SyntaxError as error:
        shown = "".join(traceback.format_exception_only(error)).rstrip()
        raise ScriptError(f"module {name!r} is not valid Python:\n{shown}") from None
    if code is None or spec.origin is None:
        raise ScriptError(f"module {name!r} has no Python code to run")
    main = types.ModuleType("__main__")
    main.__file__ = spec.origin
    main.__loader__ = loader
    main.__spec__ = spec
    main.__package__ = spec.name.rpartition(".")[0]
    _complete(main, spec.cached)
    return Program(code, main, spec.origin)


def _first_on_path(folder: str) -> None:
    """As Python does, unless it was told not to (`-P`, PYTHONSAFEPATH)."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, folder)


def _exit_code(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    sys.stdout.flush()
    print(leaving.code, file=sys.stderr)
    return 1


def show(error: BaseException) -> None:
    """As Python would, without the frames of ours that stand around or between."""
    shown: BaseException | None = error
    seen: set[int] = set()
    while shown is not None and id(shown) not in seen:
        seen.add(id(shown))
        shown.__traceback__ = _without_ours(shown.__traceback__)
        said = tf_private.message.get(shown)
        if isinstance(said, str):
            # TensorFlow tells in words where an operation was made.
            tf_private.message.set(shown, lines.without_ours(said))
        shown = shown.__cause__ or shown.__context__
    sys.stdout.flush()
    sys.excepthook(type(error), error, error.__traceback__)


def _without_ours(trace: types.TracebackType | None) -> types.TracebackType | None:
    kept = []
    while trace is not None:
        if not lines.is_ours(trace.tb_frame.f_code.co_filename):
            kept.append(trace)
        trace = trace.tb_next
    after = None
    for one in reversed(kept):
        one.tb_next = after
        after = one
    return after


def _quiet(hook: Any) -> Any:
    """A thread that trains is stopped without a word, as the main thread is."""

    def excepthook(failed: Any) -> None:
        if not issubclass(failed.exc_type, ScriptStopped):
            hook(failed)

    return excepthook


def leave(code: int) -> None:
    """End this process as Python does, but without waiting for threads that the
    script left behind once the verdict is in."""
    others = [t for t in threading.enumerate() if t is not threading.current_thread()]
    if not all(thread.daemon for thread in others):
        leave_at_once(code)
    if code == INTERRUPTED:
        # Python ends by the signal when nobody has caught the exception; the script's
        # own hook has seen it already.
        sys.excepthook = lambda *_: None
        raise KeyboardInterrupt
    sys.exit(code)


def leave_at_once(code: int) -> None:
    """End this process whatever its threads do; what the script registered with
    `atexit` is run."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if code == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code & 0xFF)
