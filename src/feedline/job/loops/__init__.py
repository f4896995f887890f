"""The kinds of training loops, each able to answer the requests of `loop.py`.

base.py      what they have in common: feeds, what the watch saw, the clock
call.py      feedline can call the step itself: `Model.fit`'s train function, or
             a `tf.function` that is handed an iterator
python.py    the user's Python loop asks us for each batch
function.py  the whole loop runs inside one `tf.function`

They are made and told what happens by `watch.py`. They measure nothing but the
time that a request took. TensorFlow is loaded with the first of them, not before:
`loop.py` is asked where the script has not loaded it yet.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feedline.job.loops.base import Loop, Variant
    from feedline.job.loops.call import CallLoop
    from feedline.job.loops.function import FunctionLoop
    from feedline.job.loops.python import PythonLoop

__all__ = ["CallLoop", "FunctionLoop", "Loop", "PythonLoop", "Variant"]
_HOME = {
    "Loop": "base",
    "Variant": "base",
    "CallLoop": "call",
    "FunctionLoop": "function",
    "PythonLoop": "python",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
