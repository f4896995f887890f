"""Pillow's decoding, kept: the same bytes give the same pixels.

Pillow opens a file at once and decodes it when its pixels are asked for. Decoding is
what costs; so here it is looked up by the bytes of the file and by what the decoder was
told, and the picture gets a copy of the pixels. All that decoding leaves behind on the
picture (its file closed, the notes read from it) is left behind here too.
"""

from __future__ import annotations

import hashlib
import io
import sys
import time
from typing import Any

from feedline.fixes.means.kept import scope
from feedline.fixes.means.kept.memory import Memory

_MODES = ("L", "RGB", "RGBA")
_PLAIN = (bool, int, float, str, bytes, type(None))
_MOST_BYTES = 64 * 2**20
_OWN = {"_im", "im", "fp", "_fp", "tile", "map", "readonly", "info"}


class Decoding:
    """`on` puts it in the place of Pillow's `ImageFile.load`."""

    name = "Pillow's decoding"

    def __init__(self, memory: Memory) -> None:
        self.used = False
        self.memory = memory
        self._plain: Any = None

    @staticmethod
    def loaded() -> bool:
        return "PIL.ImageFile" in sys.modules

    def on(self) -> None:
        if not self.loaded() or self._plain is not None:
            return
        image_file = sys.modules["PIL.ImageFile"]
        self._plain = plain = image_file.ImageFile.load
        decoding = self

        def load(picture: Any) -> Any:
            return decoding.load(picture, plain)

        image_file.ImageFile.load = load

    def off(self) -> None:
        if self._plain is not None:
            sys.modules["PIL.ImageFile"].ImageFile.load = self._plain
            self._plain = None

    def load(self, picture: Any, plain: Any) -> Any:
        key = self._key(picture) if scope.here() else None
        if key is None:
            return plain(picture)
        known = self.memory.get(key)
        if known is not None:
            self.memory.found += 1
            self.memory.saved_s += known[-1]
            return _given(picture, *known[:-1])
        return self._decoded(picture, key, plain)

    def _decoded(self, picture: Any, key: Any, plain: Any) -> Any:
        before, file = dict(vars(picture)), picture.fp
        begin = time.perf_counter()
        result = plain(picture)
        took = time.perf_counter() - begin
        self.memory.made += 1
        after = {
            name: dict(value) if type(value) is dict else value
            for name, value in vars(picture).items()
            if name not in _OWN and (name not in before or before[name] is not value)
        }
        simple = all(map(_is_simple, after.values()))
        notes = dict(picture.info)
        # Notes may be objects: the ones that reading the header made are there again.
        fresh = {k: v for k, v in notes.items() if before["info"].get(k) is not v}
        if simple and all(type(each) in _PLAIN for each in fresh.values()):
            end = None if file.closed else file.tell()
            size = 4 * picture.size[0] * picture.size[1] + 512
            kept = (picture.im.copy(), after, fresh, end, took)
            if self.memory.put(key, kept, size):
                self.used = True
        return result

    def _key(self, picture: Any) -> Any:
        """None where it is not one of Pillow's pictures in a file of its own."""
        if not picture.tile or picture.mode not in _MODES:
            return None
        kind = type(picture)
        file: Any = getattr(picture, "fp", None)
        own = kind.__module__.startswith("PIL.") and "load" not in vars(kind)
        if not own or type(file) not in (io.BytesIO, io.BufferedReader):
            return None
        if getattr(picture, "palette", None) is not None:
            return None
        at = file.tell()
        file.seek(0)
        content = file.read(_MOST_BYTES + 1)
        file.seek(at)
        if len(content) > _MOST_BYTES:
            return None
        digest = hashlib.blake2b(content, digest_size=20).digest()
        told = repr((picture.tile, picture.decoderconfig, picture.decodermaxblock))
        truncated = sys.modules["PIL.ImageFile"].LOAD_TRUNCATED_IMAGES
        return kind, picture.mode, picture.size, told, truncated, at, digest


def _is_simple(value: Any) -> bool:
    if type(value) is dict:
        return all(type(each) in _PLAIN for pair in value.items() for each in pair)
    return type(value) in _PLAIN


def _given(picture: Any, core: Any, after: Any, notes: Any, end: int | None) -> Any:
    from PIL import Image

    file = picture.fp
    picture.im = core.copy()
    picture.map = None
    picture.tile = []
    picture.readonly = 0
    for name, value in after.items():
        setattr(picture, name, dict(value) if type(value) is dict else value)
    picture.info.update(notes)
    if end is None:
        file.close()
    else:
        file.seek(end)
    picture.fp = None
    return Image.Image.load(picture)
