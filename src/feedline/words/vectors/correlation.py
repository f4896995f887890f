"""Pearson's and Spearman's correlation, as SciPy computes them."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.floating[Any]]


def pearson(first: Values, second: Values) -> float:
    """The correlation of the values; NaN where either side is constant."""
    a = np.asarray(first, np.float64) - np.mean(first, dtype=np.float64)
    b = np.asarray(second, np.float64) - np.mean(second, dtype=np.float64)
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return min(1.0, max(-1.0, float(a @ b) / scale)) if scale > 0 else math.nan


def spearman(first: Values, second: Values) -> float:
    """The correlation of the ranks."""
    return pearson(ranks(first), ranks(second))


def ranks(values: Values) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place.ravel()], np.float64)


def p_value(correlation: float, n: int) -> float | None:
    """Two-sided, by Student's t with n - 2 degrees; None without SciPy."""
    if n < 3 or not math.isfinite(correlation):
        return None
    try:
        special = importlib.import_module("scipy.special")
    except ImportError:
        return None
    if abs(correlation) >= 1:
        return 0.0
    t = correlation * math.sqrt((n - 2) / (1 - correlation**2))
    return float(2 * special.stdtr(n - 2, -abs(t)))
