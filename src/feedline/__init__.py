"""Why a TensorFlow training job is slow, proved by experiment.

The public names, loaded when first used: `import feedline` imports neither
TensorFlow nor NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feedline import words as words
    from feedline.errors import FeedlineError as FeedlineError
    from feedline.monitor.callback import Monitor as Monitor
    from feedline.report.report import Report as Report
    from feedline.session.parent import tune as tune
    from feedline.session.parent import why as why

__version__ = "0.1.0"

_HOME = {
    "FeedlineError": "feedline.errors",
    "Monitor": "feedline.monitor.callback",
    "Report": "feedline.report.report",
    "tune": "feedline.session.parent",
    "why": "feedline.session.parent",
}
_PARTS = ("words",)

__all__ = ["FeedlineError", "Monitor", "Report", "__version__", "tune", "why", "words"]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"feedline.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'feedline' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
