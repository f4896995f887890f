"""Values from one process to another: a pickle, with the bytes of arrays laid into
memory that both processes see. What does not fit there travels in the pickle."""

from __future__ import annotations

import mmap
import pickle
from typing import Any

_ALIGN = 64
_INLINE = 8 * 2**10


class Region:
    """Memory shared with processes forked after it was made. Pages that were
    never written take no memory."""

    def __init__(self, size: int) -> None:
        self._map = mmap.mmap(-1, size)
        self._view = memoryview(self._map)

    def put(self, value: Any) -> bytes:
        """Lay `value` down; what comes back is needed to take it up. Raises
        whatever pickling raises."""
        places: list[tuple[int, int]] = []
        used = 0

        def lay(buffer: pickle.PickleBuffer) -> bool:
            """False: taken. True: keep it in the pickle."""
            nonlocal used
            with buffer.raw() as raw:
                length = raw.nbytes
                if length < _ALIGN or used + length > len(self._view):
                    return True
                self._view[used : used + length] = raw
            places.append((used, length))
            used = -(-(used + length) // _ALIGN) * _ALIGN
            return False

        stream = pickle.dumps(value, protocol=5, buffer_callback=lay)
        at = -1
        if _INLINE < len(stream) <= len(self._view) - used:
            at = used
            self._view[at : at + len(stream)] = stream
        inline = stream if at < 0 else b""
        return pickle.dumps((inline, at, len(stream), places), protocol=5)

    def take(self, header: bytes) -> Any:
        """The value, in memory of its own."""
        stream, at, length, places = pickle.loads(header)
        if at >= 0:
            stream = bytes(self._view[at : at + length])
        buffers = [bytearray(self._view[start : start + n]) for start, n in places]
        return pickle.loads(stream, buffers=buffers)
