"""The directory that a run trains into: whose it is, and what may go on in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from feedline.errors import CorpusError, OutputExists, TrainingError
from feedline.words.engine.config import Config
from feedline.words.text.corpus import Corpus
from feedline.words.text.shards import read_manifest
from feedline.words.training import checkpoint
from feedline.words.training.driver import METRICS

VECTORS = "vectors.json"
_LOCK = "training.lock"


def claim(
    folder: Path, stack: ExitStack, *, resume: bool, force: bool
) -> checkpoint.Checkpoint | None:
    """Take the directory for this run. Gives the checkpoint to go on from, if any;
    a finished run counts as one when it is to be resumed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainingError(
            f"the directory {folder} cannot be made: {error.strerror or error}. Give "
            "another."
        ) from error
    _lock(folder, stack)
    training = folder / checkpoint.FOLDER
    if resume:
        if (found := checkpoint.read(training)) is not None:
            return found
        if (folder / VECTORS).exists():
            return checkpoint.Checkpoint({}, 0, 0, {}, folder, finished=True)
        return None
    if (training / checkpoint.JSON).exists() and not force:
        raise OutputExists(
            f"{folder} holds a run that did not end. Continue it (--resume, or "
            "resume=True), or start over (--force, or force=True)."
        )
    if (folder / VECTORS).exists() and not force:
        raise OutputExists(
            f"{folder} holds vectors already. Give another directory, or overwrite "
            "them (--force, or force=True)."
        )
    shutil.rmtree(training, ignore_errors=True)
    (folder / METRICS).unlink(missing_ok=True)
    return None


def _lock(folder: Path, stack: ExitStack) -> None:
    """Two runs in one directory would overwrite each other."""
    try:
        stack.enter_context(FileLock(folder / _LOCK, blocking=False))
    except Timeout:
        raise TrainingError(
            f"another process is training into {folder}. Wait for it, or "
            "give another directory."
        ) from None
    except OSError as error:
        raise TrainingError(
            f"{folder} cannot be written to: {error.strerror or error}. Give another "
            "directory."
        ) from error
    stack.callback(_remove, folder / _LOCK)


def _remove(lock: Path) -> None:
    with suppress(PermissionError):  # Windows, where `filelock` does it at the end
        lock.unlink(missing_ok=True)


def check_corpus(corpus: Corpus, store: Path) -> None:
    """An error where the text is not what was encoded before, naming what differs."""
    now = corpus.fingerprint()
    try:
        before = read_manifest(store / "tokens").facts.get("fingerprint")
    except CorpusError:
        return
    if now is None or before is None or before["corpus"] == now:
        return
    then = before["corpus"]
    for name, value in now.items():
        if then[name] != value and name != "files":
            raise TrainingError(
                f"cannot resume: {name} is {value!r}, was {then[name]!r}. {_CURE}"
            )
    old = {path: rest for path, *rest in then["files"]}
    new = {path: rest for path, *rest in now["files"]}
    changed = [path for path in new if path in old and new[path] != old[path]]
    added = [path for path in new if path not in old]
    gone = [path for path in old if path not in new]
    what = [f"{path} has changed" for path in changed]
    what += [f"{path} is new" for path in added]
    what += [f"{path} is missing" for path in gone]
    raise TrainingError(
        f"cannot resume: the corpus is not the one that the run began with: "
        f"{'; '.join(what[:3]) or 'its files are in another order'}. {_CURE}"
    )


_CURE = (
    "Give what the run began with, or start over without resume (--force in place of "
    "--resume)."
)


def check_same(
    config: Config, record: Mapping[str, Any], before: Mapping[str, Any]
) -> None:
    """An error where a run would go on otherwise than it began, naming the options."""
    differing = config.differs(before["config"])
    for name, value in record["options"].items():
        if value != before["options"].get(name):
            differing.append(
                f"{name} is {value!r}, was {before['options'].get(name)!r}"
            )
    for name in ("engine", "start"):
        if record[name] != before[name]:
            differing.append(f"{name} is {record[name]!r}, was {before[name]!r}")
    if differing:
        raise TrainingError(f"cannot resume: {'; '.join(differing)}. {_CURE}")
    if record["text"] != before["text"]:
        now, then = record["text"]["tokens"], before["text"]["tokens"]
        raise TrainingError(
            f"cannot resume: the corpus differs ({now:,} tokens, was {then:,}). {_CURE}"
        )


def tidy(folder: Path) -> None:
    """Training has ended: what was only for going on is deleted."""
    training = folder / checkpoint.FOLDER
    (training / checkpoint.JSON).unlink(missing_ok=True)
    for path in training.glob("checkpoint-*"):
        path.unlink(missing_ok=True)
    if training.is_dir() and not os.listdir(training):
        training.rmdir()
