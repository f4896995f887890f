"""What TensorFlow and h5py write without Python's knowledge, told to the seal of a
rehearsal.

Their functions that write are wrapped where Python calls them. In a `tf.function` they
are called while it is traced: a graph that could write counts as writing. What is not
listed here is left to the kernel (`landlock.py`).
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from feedline.job.private.tensorflow import PACKAGE
from feedline.job.script.imports import AfterImport
from feedline.session.rehearsal.seal import Seal

# Ops that write: the module that has them, and which argument is the path. None: it is
# not one path, or is known only when the op runs.
_OPS: dict[str, dict[str, str | None]] = {
    "gen_io_ops": {
        "save": "filename",
        "save_slices": "filename",
        "save_v2": "prefix",
        "merge_v2_checkpoints": "destination_prefix",
        "write_file": "filename",
    },
    "gen_summary_ops": {
        "create_summary_file_writer": "logdir",
        "create_summary_db_writer": "db_uri",
    },
    "gen_dataset_ops": {
        "cache_dataset": "filename",
        "cache_dataset_v2": "filename",
        "dataset_to_tf_record": "filename",
    },
    "gen_experimental_dataset_ops": {
        "experimental_dataset_to_tf_record": "filename",
        "dataset_to_tf_record": "filename",
        "save_dataset": "path",
        "save_dataset_v2": "path",
        "snapshot_dataset": "path",
        "snapshot_dataset_v2": "path",
        "distributed_save": "directory",
    },
    "gen_debug_ops": {"debug_identity_v2": None, "debug_identity_v3": None},
}
# An empty name is none: `Dataset.cache()` keeps it in memory.
_FILES = {
    "CreateDir": 0,
    "RecursivelyCreateDir": 0,
    "DeleteFile": 0,
    "DeleteRecursively": 0,
    "CopyFile": 1,
    "RenameFile": 1,
    "WriteStringToFile": 0,
}


def install(seal: Seal) -> None:
    """Now, and in what is imported later."""
    patches: dict[str, Callable[[ModuleType], None]] = {
        f"{PACKAGE}ops.{name}": functools.partial(_ops, seal, ops)
        for name, ops in _OPS.items()
    }
    patches[f"{PACKAGE}lib.io.file_io"] = functools.partial(_files, seal)
    patches[f"{PACKAGE}lib.io.tf_record"] = functools.partial(_records, seal)
    patches["h5py._hl.files"] = functools.partial(_h5, seal)
    patches["multiprocessing.util"] = functools.partial(_processes, seal)
    AfterImport(patches).install()


def _ops(seal: Seal, ops: dict[str, str | None], module: ModuleType) -> None:
    for name, argument in ops.items():
        original = getattr(module, name, None)
        if original is not None:
            setattr(module, name, _told(seal, original, argument))


def _told(
    seal: Seal, original: Callable[..., Any], argument: str | None
) -> Callable[..., Any]:
    names = list(inspect.signature(original).parameters)
    position = names.index(argument) if argument in names else -1

    @functools.wraps(original)
    def op(*args: Any, **more: Any) -> Any:
        given = (
            args[position] if 0 <= position < len(args) else more.get(argument or "")
        )
        path = _text(given)
        if path != "":
            seal.writes(path if path is not None else "a file")
        return original(*args, **more)

    return op


def _text(value: Any) -> str | None:
    """A path that may be a tensor; None where it is not known yet."""
    if hasattr(value, "numpy"):
        try:
            from feedline.job.private.tensorflow import tensor_util

            value = tensor_util.constant_value(value)
            value = value.item() if hasattr(value, "item") else value
        except Exception:  # known only when it runs
            return None
    if isinstance(value, bytes | str | os.PathLike):
        return os.fsdecode(value)
    return None


def _files(seal: Seal, module: ModuleType) -> None:
    """`tf.io.gfile` and all that TensorFlow's Python writes."""
    native: Any = module.__dict__["_pywrap_file_io"]
    for name, position in _FILES.items():
        if hasattr(native, name):
            setattr(native, name, _named(seal, getattr(native, name), position))
    native.WritableFile = _named(seal, native.WritableFile, 0)


def _records(seal: Seal, module: ModuleType) -> None:
    cls = module.__dict__["TFRecordWriter"]
    original = cls.__init__

    @functools.wraps(original)
    def init(self: Any, path: Any, *args: Any, **more: Any) -> None:
        seal.writes(_text(path) or "a file")
        original(self, path, *args, **more)

    cls.__init__ = init


def _named(seal: Seal, original: Any, position: int) -> Any:
    def call(*args: Any, **more: Any) -> Any:
        values = [*args, *more.values()]
        path = _text(values[position]) if position < len(values) else None
        seal.writes(path if path is not None else "a file")
        return original(*args, **more)

    return call


def _h5(seal: Seal, module: ModuleType) -> None:
    cls = module.__dict__["File"]
    original = cls.__init__

    @functools.wraps(original)
    def init(self: Any, name: Any, mode: str = "r", *args: Any, **more: Any) -> None:
        path = _text(name)
        if mode != "r" and path is not None:
            seal.writes(path)
        original(self, name, mode, *args, **more)

    cls.__init__ = init


def _processes(seal: Seal, module: ModuleType) -> None:
    """Python tells of a fork, but not of a process that `multiprocessing` spawns."""
    hooked: Any = module
    original = hooked.spawnv_passfds

    @functools.wraps(original)
    def spawn(*args: Any) -> Any:
        seal.starts("starts a process")
        return original(*args)

    hooked.spawnv_passfds = spawn
