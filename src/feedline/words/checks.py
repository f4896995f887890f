"""Checks of single options: an error that says the value and what is usual."""

from __future__ import annotations

import math
from typing import Any

from feedline.errors import TrainingError


def is_number(value: object) -> bool:
    """A number, and no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    """One of some names."""
    if value not in known:
        raise TrainingError(f"{name} is {value!r}; it can be {', '.join(known)}.")


def whole(name: str, value: Any, low: int, high: int, usual: str) -> None:
    """A whole number within bounds."""
    fits = isinstance(value, int) and not isinstance(value, bool)
    if not fits or not low <= value <= high:
        raise TrainingError(
            f"{name} is {value!r}; it must be a whole number from {low} to {high} "
            f"({usual})."
        )


def number(name: str, value: Any, low: float, high: float, usual: str) -> None:
    """A finite number within bounds."""
    if not is_number(value) or not math.isfinite(value) or not low <= value <= high:
        raise TrainingError(
            f"{name} is {value!r}; it must be a number from {low:g} to {high:g} "
            f"({usual})."
        )
