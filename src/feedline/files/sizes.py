"""Bytes as a person reads them: decimal units, as disks and networks are sold in.

Everything that a user reads takes its sizes from here, so that two numbers in one
report can be compared.
"""

from __future__ import annotations

import math

_UNITS = ("B", "kB", "MB", "GB", "TB")


def size(count: float | None) -> str:
    """`512 B`, `21.5 kB`, `602 kB`, `1.2 GB`; `?` where it is not known."""
    if count is None or not math.isfinite(count) or count < 0:
        return "?"
    if count < 1000:
        return f"{count:.0f} B"
    power = 1
    while count >= 999.5 * 1000**power and power < len(_UNITS) - 1:
        power += 1
    value = count / 1000**power
    digits = 0 if value >= 99.95 else 1
    return f"{value:,.{digits}f} {_UNITS[power]}"
