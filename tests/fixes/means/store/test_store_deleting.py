"""The store removes what it made and nothing else, whatever lies beside it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline.fixes.means.store import Refused, Store, StoreFull, marks
from feedline.fixes.means.store.disk import default_folder
from feedline.fixes.means.store.entries import Entries, checksums
from feedline.fixes.means.store.manifest import Manifest

KEYS = ("0123456789abcdef", "fedcba9876543210")
NAMES = (
    *(f"{KEYS[0]}-00000000", f"{KEYS[0]}-00000000 (copy)", "my-data", "runs-2024"),
    *("lock", ".lock", "manifest.json", "data", "used", "manifest.tmp", "notes.txt"),
    *(".gone-x", f".gone-{KEYS[0]}-00000000", f".gone-12345678-{KEYS[0]}-00000000"),
    *(marks.ROOT, marks.ENTRY, "feedline-store", "x"),
)
SIZE = 1000
NAME = st.sampled_from(NAMES)
TEXT = st.sampled_from(["", "mine", "feedline store 1\n", "feedline entry 1\n"])
TREE = st.recursive(
    TEXT | st.sampled_from(["-> file", "-> folder"]),
    lambda tree: st.dictionaries(NAME, tree, max_size=4),
    max_leaves=8,
)
TREES = st.dictionaries(NAME, TREE, max_size=5)
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["fill", "open", "crash", "half removed", "damage", "room", "check"]
        ),
        st.sampled_from(KEYS),
    ),
    max_size=8,
)


def plant(folder: Path, tree, outside: Path, foreign: list[Path]) -> None:
    """Files and folders that are not ours; what is there already stays."""
    for name, content in tree.items():
        path = folder / name
        if os.path.lexists(path):
            continue
        if isinstance(content, dict):
            path.mkdir()
            plant(path, content, outside, foreign)
        elif content.startswith("-> "):
            path.symlink_to(outside / content[3:])
        else:
            path.write_text(content)
        foreign.append(path)


def seen(paths: list[Path]) -> dict[Path, object]:
    """All that can be seen of them: kind, content, target, time of change."""
    found: dict[Path, object] = {}
    for path in paths:
        if not os.path.lexists(path):
            found[path] = "gone"
        elif path.is_symlink():
            found[path] = os.readlink(path)
        elif path.is_dir():
            found[path] = path.lstat().st_ino
        else:
            found[path] = (path.read_bytes(), path.lstat().st_mtime_ns)
    return found


def filled(entries: Entries, key: str) -> Path:
    entry = entries.create(key)
    entry.data.write_bytes(os.urandom(SIZE))
    manifest = Manifest(
        *(key, "2", "single", 1, 1, (), "", SIZE), checksums(entry.data)
    )
    entries.complete(entry, manifest)
    entry.lock.close()
    return entry.folder


def operate(entries: Entries, what: str, key: str) -> None:
    if what == "fill":
        filled(entries, key)
    elif what == "open":
        for entry, manifest in entries.of(key):
            entries.is_whole(entry, manifest)
            entry.touch()
            entry.lock.close()
    elif what == "crash":  # killed while writing: the lock goes, the rest stays
        entry = entries.create(key)
        entry.data.write_bytes(b"half of it")
        entry.lock.close()
    elif what == "half removed":
        folder = filled(entries, key)
        (folder / "data").unlink()
        folder.rename(folder.with_name(f".gone-01234567-{folder.name}"))
    elif what == "damage":
        (filled(entries, key) / "data").write_bytes(b"x" * SIZE)
    elif what == "room":
        entries.make_room(2 * SIZE)
    else:
        entries.check()


def law(around, inside, deep, operations, *, first: bool) -> None:
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        outside, base = place / "outside", place / "given"
        (outside / "folder").mkdir(parents=True)
        (outside / "file").write_text("outside")
        (outside / "folder" / "file").write_text("outside")
        base.mkdir()
        store = base / "feedline-store"
        foreign = [outside / "file", outside / "folder", outside / "folder" / "file"]
        plant(base, around, outside, foreign)
        entries = Entries(store, 4 * SIZE, None)
        if not first:
            with contextlib.suppress(Refused):
                folder = filled(entries, KEYS[0])
                plant(folder, deep, outside, foreign)
        if not os.path.lexists(store):
            store.mkdir()
        if store.is_dir() and not store.is_symlink():
            plant(store, inside, outside, foreign)
        before = seen(foreign)
        for what, key in operations:
            with contextlib.suppress(Refused):
                operate(entries, what, key)
        assert seen(foreign) == before


@settings(max_examples=60)
@given(TREES, TREES, TREES, OPERATIONS, st.booleans())
def test_nothing_foreign_is_ever_changed(around, inside, deep, operations, first):
    law(around, inside, deep, operations, first=first)


@pytest.mark.slow
@settings(max_examples=3000, derandomize=False)
@given(TREES, TREES, TREES, OPERATIONS, st.booleans())
def test_nothing_foreign_is_ever_changed_of_many(around, inside, deep, ops, first):
    law(around, inside, deep, ops, first=first)


def test_leftovers_of_our_own_go(tmp_path):
    entries = Entries(tmp_path / "store", 3 * SIZE, None)
    for what in ("crash", "half removed", "crash"):
        operate(entries, what, KEYS[0])
    kept = filled(entries, KEYS[1])
    names = {one.name for one in (tmp_path / "store").iterdir()}
    assert names == {marks.ROOT, marks.LOCK, kept.name}
    entries.make_room(3 * SIZE)
    assert not kept.exists()


def test_a_folder_that_users_name_gets_one_of_ours_inside(tmp_path, monkeypatch):
    """As reported: every sub-folder with a dash in its name was deleted."""
    for name in ("runs-2024", "my-model"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_text("precious")
    monkeypatch.setenv("FEEDLINE_CACHE", str(tmp_path))
    assert default_folder() == tmp_path / "feedline-store"
    store = Store(limit_bytes=2 * SIZE)
    filled(store.entries, KEYS[0])
    store.entries.make_room(2 * SIZE)
    assert (tmp_path / "runs-2024" / "weights").read_text() == "precious"
    assert (tmp_path / "my-model" / "weights").read_text() == "precious"


def test_a_folder_with_files_in_it_is_not_taken(tmp_path):
    folder = tmp_path / "feedline-store"
    folder.mkdir()
    (folder / "mine").touch()
    entries = Entries(folder, None, None)
    for ask in (entries.check, lambda: entries.create(KEYS[0])):
        with pytest.raises(Refused, match=r"did not make it.*FEEDLINE_CACHE"):
            ask()
    assert os.listdir(folder) == ["mine"]
    (folder / "mine").unlink()
    assert filled(entries, KEYS[0]).is_dir()


def test_no_folder_to_write_in(tmp_path):
    file = tmp_path / "file"
    file.touch()
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    for folder in (file, file / "below", dangling):
        entries = Entries(folder, None, None)
        for ask in (entries.check, lambda e=entries: e.create(KEYS[0])):
            with pytest.raises(Refused, match=r"no folder.*FEEDLINE_CACHE"):
                ask()
        assert list(entries.of(KEYS[0])) == []
    assert sorted(os.listdir(tmp_path)) == ["dangling", "file"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives folders away")
@pytest.mark.parametrize("empty", [True, False])
def test_a_folder_of_another_user(tmp_path, empty):
    folder = tmp_path / "store"
    entries = Entries(folder, None, None)
    if empty:
        folder.mkdir()
    else:
        filled(entries, KEYS[0])
    os.chown(folder, 12345, 12345)
    with pytest.raises(Refused, match=r"another user.*FEEDLINE_CACHE"):
        entries.create(KEYS[0])
    with pytest.raises(Refused, match="another user"):
        entries.check()


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(Refused, match=r"cannot be written.*FEEDLINE_CACHE"):
            Entries(tmp_path / "store", None, None).check()
    finally:
        tmp_path.chmod(0o700)


def test_a_disk_that_is_read_only():
    """The kernel's own: nobody, not even root, makes a folder there."""
    entries = Entries(Path("/proc/feedline-store"), None, None)
    with pytest.raises(Refused, match="disk cache"):
        entries.create(KEYS[0])
    assert list(entries.of(KEYS[0])) == []


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path):
    class Full:
        def free(self, folder):
            return shutil.disk_usage(folder).free * 0

    entries = Entries(tmp_path / "store", None, Full())
    entry = entries.create(KEYS[0])
    with pytest.raises(StoreFull, match="FEEDLINE_CACHE"):
        entries.make_room(1)
    entry.discard()
    assert not entry.folder.exists()
