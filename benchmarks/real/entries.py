"""The entries of `gallery.toml`: which script, what is changed, what is true of it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

import tomllib

TOML = Path(__file__).resolve().parent.parent / "gallery.toml"
COMPUTE = "compute"

Replacements = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Entry:
    """One script. `shrink` makes it short and lets it read our own data; `by_hand` and
    `by_hand_numeric` are what a person would change to make it fast, on top of that."""

    name: str
    repository: str
    path: str
    licence: str
    digest: str
    truth: str
    cause: tuple[str, ...]
    """The causes of which `feedline` must name one first; empty where the step
    computes and nothing is to be gained."""
    commit: str = ""
    sha256: str = ""
    """Of a text that lies in no repository: a reproducer in an issue."""
    data: str = ""
    also: tuple[str, ...] = ()
    """Other files of the repository that the script imports."""
    until: str = ""
    """The script ends before this text; what comes after it trains nothing new."""
    arguments: tuple[str, ...] = ()
    """Of its command line."""
    shrink: Replacements = ()
    by_hand: Replacements = ()
    by_hand_numeric: Replacements = ()
    ignore: tuple[str, ...] = ()
    """Patterns of lines of its output that hold times."""
    notes: str = field(default="")


class BadEntry(Exception):
    """`gallery.toml` says something that cannot be."""


def load(path: Path = TOML) -> dict[str, Entry]:
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    entries: dict[str, Entry] = {}
    for table in written.get("script", []):
        entry = _entry(table)
        if entry.name in entries:
            raise BadEntry(f"{entry.name} stands twice in {path.name}")
        entries[entry.name] = entry
    return entries


def _entry(table: dict[str, object]) -> Entry:
    name = table.get("name", "?")
    known = {each.name for each in fields(Entry)}
    if unknown := set(table) - known:
        raise BadEntry(f"{name}: unknown keys {sorted(unknown)}")
    given = {key: _frozen(value) for key, value in table.items()}
    try:
        entry = Entry(**given)  # type: ignore[arg-type]
    except TypeError as error:
        raise BadEntry(f"{name}: {error}") from error
    if bool(entry.commit) == bool(entry.sha256):
        raise BadEntry(
            f"{name}: give a commit, or the sha256 of a text in no repository"
        )
    for changes in (entry.shrink, entry.by_hand, entry.by_hand_numeric):
        if any(len(change) != 2 for change in changes):
            raise BadEntry(f"{name}: a replacement is a pair of texts, old and new")
    return entry


def _frozen(value: object) -> object:
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value
