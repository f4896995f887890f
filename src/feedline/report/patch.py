"""The plan's changes as a diff of the user's source, for `git apply`.

    places  = patch.places(pipeline, edits, loop, step)  where the job runs
    made    = patch.make(places, patch.root_of(places))
    patch.save(made.text, path)

What a plan does to a live job is said here in the user's own code, formatting and
comments kept. Where that cannot be said as an edit, a comment at the line says
what to do. A file that lies outside of the project, or that has changed since the
job ran, is left alone. The edits themselves are in `patches/`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.files import whole
from feedline.fixes.patching import CannotEdit
from feedline.fixes.place import Place
from feedline.fixes.places import places
from feedline.job.source.lines import is_library
from feedline.report.patches import comments, lines
from feedline.report.patches.document import CannotRead, Document
from feedline.report.patches.edits import edit, locate
from feedline.report.patches.find import count
from feedline.report.patches.functions import as_graph, with_option
from feedline.report.patches.names import autotune_at
from feedline.report.patches.unified import unified

__all__ = ["Outcome", "Patch", "Place", "make", "places", "root_of", "save"]

log = logging.getLogger(__name__)

_INSTALLED = ("site-packages", "dist-packages")
_MOST_BYTES = 5_000_000


@dataclass(frozen=True)
class Outcome:
    """What became of one place: edited, said in a comment, or left out."""

    place: Place
    how: Literal["edit", "comment", "left"]
    reason: str = ""


@dataclass(frozen=True)
class Patch:
    """`text` is empty where no file changes."""

    text: str
    outcomes: tuple[Outcome, ...] = ()

    @property
    def left(self) -> tuple[Outcome, ...]:
        return tuple(each for each in self.outcomes if each.how == "left")


def make(places: Sequence[Place], root: Path) -> Patch:
    """The changes of these places as a unified diff, with names from `root`, and what
    became of each place. Reads the files, writes none."""
    root = Path(os.path.realpath(root))
    found: dict[int, Outcome] = {}
    text = ""
    for file, numbered in _by_file(places).items():
        own = [place for _, place in numbered]
        try:
            name = _relative(file, root)
            raw = _read(file)
            changed, outcomes = _patched(raw, own)
            text += unified(name, raw, changed)
        except CannotRead as reason:
            outcomes = [Outcome(place, "left", str(reason)) for place in own]
        for (number, _), outcome in zip(numbered, outcomes, strict=True):
            found[number] = outcome
    return Patch(text, tuple(found[number] for number in sorted(found)))


def root_of(places: Iterable[Place], cwd: Path | None = None) -> Path:
    """What the names in the patch are relative to, by its first file: the root of
    the git work tree that it is in, else the current directory. A file that is in
    neither counts from its own folder."""
    here = Path(os.path.realpath(cwd or Path.cwd()))
    first = next(iter(places), None)
    if first is None:
        return here
    folder = Path(os.path.realpath(first.file)).parent
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate
    return here if folder.is_relative_to(here) else folder


def save(text: str, path: Path) -> None:
    """Whole or not at all."""
    try:
        whole.write(path, text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise FeedlineError(f"cannot write {path}: {error.strerror}") from None


# ------------------------------------------------------------------------ files


def _by_file(places: Sequence[Place]) -> dict[str, list[tuple[int, Place]]]:
    found: dict[str, list[tuple[int, Place]]] = {}
    for number, place in enumerate(places):
        found.setdefault(os.path.realpath(place.file), []).append((number, place))
    return found


def _relative(file: str, root: Path) -> str:
    path = Path(file)
    if is_library(file) or any(name in path.parts for name in _INSTALLED):
        raise CannotRead("it is an installed package and not yours to change")
    if not path.is_relative_to(root):
        raise CannotRead(f"it lies outside of {root}")
    return path.relative_to(root).as_posix()


def _read(file: str) -> bytes:
    try:
        if os.path.getsize(file) > _MOST_BYTES:
            raise CannotRead("it is too large to be a source")
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CannotRead(f"it cannot be read: {reason}") from None


def _patched(raw: bytes, places: list[Place]) -> tuple[bytes, list[Outcome]]:
    """The file with what can be done, and what became of each place."""
    document = Document(raw)
    document.whole = any(
        _patch(place).whole_file or place.op == "def" for place in places
    )
    for number, place in enumerate(places):
        document.marks["line", number] = _line(document, place)
    refused: dict[int, str] = {}
    # All calls are found before anything is changed: line numbers are the job's.
    for number, place in enumerate(places):
        if place.op == "def":
            continue
        if place.op == "for":
            refused[number] = "a loop cannot be moved by an edit: move it yourself"
            continue
        try:
            call = locate(document.tree, place, count(places, place))
            document.marks["call", number] = call.at
            if _patch(place).at_end:
                document.slots.add(("call", number))
        except CannotEdit as reason:
            refused[number] = str(reason)
    outcomes = [
        _perform(document, place, number, refused.get(number))
        for number, place in enumerate(places)
    ]
    return document.result(), outcomes


def _patch(place: Place) -> fixes.Patch:
    fix = fixes.all().get(place.edit.fix)
    return fixes.Patch() if fix is None else fix.patch


def _line(document: Document, place: Place) -> int:
    """Where the code of this line begins."""
    text, found = document.text, lines.starts(document.text)
    line = lines.get(text, place.line)
    missing = not 1 <= place.line <= len(found)
    if missing or (place.code and line.decode("utf-8").strip() != place.code.strip()):
        raise CannotRead(f"line {place.line} is no longer what it was in the run")
    return found[place.line - 1] + len(lines.indent(line))


def _perform(
    document: Document, place: Place, number: int, refused: str | None
) -> Outcome:
    before = document.state()
    if refused is None:
        try:
            if place.op == "def":
                option = place.edit.args.get("option")
                fused = bool(place.edit.args.get("fused"))
                if isinstance(option, str):
                    with_option(document, document.marks["line", number], option)
                else:
                    as_graph(document, document.marks["line", number], fused=fused)
                return Outcome(place, "edit")
            call = document.tree.call_at(document.marks["call", number])
            if call is None:
                raise CannotEdit("an earlier change took its place")
            edit(document, place, call)
            return Outcome(place, "edit")
        except CannotEdit as reason:
            document.restore(before)
            refused = str(reason)
        except Exception:  # one edit that fails must not cost the whole patch
            log.exception("the edit for %s failed", place.edit.fix)
            document.restore(before)
            refused = "feedline failed to make this edit"
    # A call that was moved takes its comment along.
    at = document.marks.get(("call", number), document.marks["line", number])
    text = comments.said(place, autotune_at(document, at), refused)
    if comments.put(document, at, text):
        return Outcome(place, "comment", refused)
    return Outcome(place, "left", "no comment fits at this line")
