"""Vectors from and for other programs: one file per format, found by its presence.

A file here with a `FORMAT` (format.py) is a format: it says its name, how it is
recognised, what it reads and writes. What several need is in shared/.

`read` looks at what a file holds, not at its name, unless the format is given;
`write` goes by the name. A file that is cut short, lies about its size or is of
another kind is a VectorsError that says where.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from feedline.errors import VectorsError
from feedline.words.formats.format import Format
from feedline.words.formats.shared import target, text
from feedline.words.formats.shared.source import Source, opened
from feedline.words.vectors.vectors import Vectors


@cache
def all() -> Mapping[str, Format]:  # noqa: A001 - read as `formats.all()`
    """Every format by its name, in the order of the alphabet."""
    found = {}
    for one in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{one.name}")
        if isinstance(known := getattr(module, "FORMAT", None), Format):
            found[known.name] = known
    return MappingProxyType(dict(sorted(found.items())))


def readable() -> tuple[str, ...]:
    """The names of the formats that can be read."""
    return tuple(name for name, one in all().items() if one.readable)


def writable() -> tuple[str, ...]:
    """The names of the formats that vectors are exported to."""
    return tuple(name for name, one in all().items() if one.write is not None)


def read(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    limit: int | None = None,
) -> Vectors:
    """Vectors from a saved directory or a file, plain or gzip, xz or zstd.

    `limit` takes only the first words, which in most files are the most frequent.
    """
    path = Path(path)
    if format is not None and format not in readable():
        raise VectorsError(
            f"vectors cannot be read as {format!r}: give one of {', '.join(readable())}"
        )
    if limit is not None and limit < 1:
        raise VectorsError(f"limit is {limit}: give 1 or more")
    known = _of_folder(path) if format is None else all()[format]
    if known is not None and known.read_folder is not None:
        return known.read_folder(path, limit=limit)
    with opened(path) as source:
        if source.peek(3) == b"\xef\xbb\xbf":  # some editors' mark of UTF-8
            source.read(3)
        known = known or _of_file(source)
        if known.read is None:
            source.fail(known.refused)
        return known.read(source, limit=limit)


def write(
    vectors: Vectors,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    *,
    force: bool = False,
) -> Path:
    """Export; where no format is given, the name's ending says it."""
    name = format or guess(path)
    place = check(path, name, force=force)
    run = all()[name].write
    assert run is not None
    run(vectors, place)
    return place


def check(path: str | os.PathLike[str], name: str, *, force: bool = False) -> Path:
    """Where an export may be written; an error, before any work, if it may not."""
    if name not in writable():
        raise VectorsError(
            f"vectors cannot be written as {name!r}: give one of "
            f"{', '.join(writable())}"
        )
    known = all()[name]
    if Path(path).suffix == ".gz" and not known.packed:
        packed = ", ".join(one.name for one in all().values() if one.packed)
        raise VectorsError(
            f"{name} is not written compressed, and {os.fspath(path)!r} ends with .gz: "
            f"leave it out. {packed} are"
        )
    place = Path(path).absolute()
    if not known.folder:
        place = target.check(path, force=force)
    if known.check is not None:
        known.check(place, force=force)
    return place


def guess(path: str | os.PathLike[str]) -> str:
    """The format that a file's name asks for."""
    name = Path(path)
    if name.suffix.lower() == ".gz":
        name = name.with_suffix("")
    endings = {end: one.name for one in all().values() for end in one.endings}
    found = endings.get(name.suffix.lower())
    if found is None:
        known = ", ".join(f"{end} {one}" for end, one in endings.items())
        raise VectorsError(
            f"the name {os.fspath(path)!r} does not say the format. Name it "
            f"(--format), one of {', '.join(writable())}, or end the name with one of: "
            f"{known}"
        )
    return found


def _of_folder(path: Path) -> Format | None:
    if not path.is_dir():
        return None
    held = (one for one in all().values() if one.holds is not None and one.holds(path))
    return next(held, None)


def _of_file(source: Source) -> Format:
    """The format of a file by its content; an error that says what was seen."""
    start = source.peek(1 << 12)
    if not start:
        source.fail("it is empty")
    known = all().values()
    by_magic = (one for one in known if start.startswith(one.magic))
    by_text = (one for one in known if one.detect is not None and one.detect(source))
    found = next(by_magic, None) or next(by_text, None)
    if found is None:
        source.fail(
            "its format is not known: it is not text and begins with "
            f"{text.shown(start[:16])}. If you know the format, name it"
        )
    return found
