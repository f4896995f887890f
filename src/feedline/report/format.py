"""Numbers as a person reads them. A value that was not measured is `?`."""

from __future__ import annotations

import math

UNKNOWN = "?"


def number(value: float | None) -> str:
    """Three digits that matter: 0.034, 9.1, 84.2, 683, 12,400."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    size = abs(value)
    if size >= 1e7:
        return f"{value:.2e}"
    if size == 0 or size >= 100:
        return f"{value:,.0f}"
    if size >= 1:
        return f"{value:.1f}"
    return f"{value:.2g}" if size >= 0.001 else f"{value:.4f}"


def ms(value: float | None) -> str:
    return f"{number(value)} ms"


def seconds(value: float | None) -> str:
    """Seconds, minutes or hours, whichever is short: `8.1 s`, `14 min`."""
    if value is None or not math.isfinite(value):
        return f"{UNKNOWN} s"
    if value >= 2 * 3600:
        return f"{value / 3600:.1f} h"
    if value >= 600:
        return f"{value / 60:.0f} min"
    if value >= 10:
        return f"{value:.0f} s"
    return f"{value:.1f} s"


def percent(share: float | None) -> str:
    if share is None or not math.isfinite(share):
        return f"{UNKNOWN} %"
    if 0 < share < 0.01:
        return "<1 %"
    if share >= 10:
        return ">999 %"
    return f"{share * 100:.0f} %"


def ratio(before: float, after: float) -> float | None:
    """How many times faster `after` is, None where it cannot be said."""
    if not (math.isfinite(before) and math.isfinite(after)) or after <= 0:
        return None
    gain = before / after
    return gain if math.isfinite(gain) else None


def times(value: float) -> str:
    """A gain: `1.8 x`, `93 x`."""
    return f"{value:.1f} x" if value < 10 else f"{number(float(round(value)))} x"
