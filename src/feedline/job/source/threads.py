"""Does the script do anything in another thread right now?"""

from __future__ import annotations

import sys
import threading

from feedline.job.source.lines import user_frame


def users_beside() -> str:
    """The name of a thread of Python's, other than this one, that is in a function of
    the user's; empty where there is none. TensorFlow's own threads are not among them:
    what runs there belongs to a dataset, and is judged with it."""
    frames = sys._current_frames()
    here = threading.get_ident()
    # Not `threading.enumerate()`: it takes a lock that the script may hold.
    for ident, thread in list(threading._active.items()):  # type: ignore[attr-defined]
        if ident == here or isinstance(thread, threading._DummyThread):
            continue
        if user_frame(frames.get(ident)) is not None:
            return str(thread.name)
    return ""
