"""Why a job is slow: one file per cause, found here by its presence.

A cause's file holds its page (the module docstring), the names of its fixes
(`FIXES`) and `detect(job, measured)`. It may also say

    FACT = True         reported however little it costs: a fault of correctness,
                        or a fact that no experiment here can price
    LAST_RESORT = True  its cure asks for a larger machine or another training;
                        on a tie every other cause goes first
    CONCERNS = (PART, ...)  which parts of a step it may be found in; the input, unless
                        it says otherwise

A file without `detect` (`finding`, `look`) is not a cause. Nothing here touches
TensorFlow or the file system: a job and its measurement come in as plain data.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from feedline.causes.asking import steady
from feedline.causes.finding import Finding
from feedline.job.job import Job
from feedline.measure.measurement import Measurement

__all__ = ["Cause", "Finding", "all", "diagnose"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Cause:
    """One known reason for slowness; `page` is markdown, `title` its first line."""

    name: str
    title: str
    page: str
    fixes: tuple[str, ...]
    detect: Callable[[Job, Measurement], Iterable[Finding]]
    fact: bool = False
    last_resort: bool = False
    concerns: tuple[str, ...] = ("input",)


@cache
def all() -> Mapping[str, Cause]:  # noqa: A001 - read as `causes.all()`
    """Every cause by its name, in the order of the alphabet."""
    causes = {}
    for found in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{found.name}")
        if not hasattr(module, "detect"):
            continue
        page = inspect.cleandoc(module.__doc__ or "")
        causes[found.name.replace("_", "-")] = Cause(
            name=found.name.replace("_", "-"),
            title=page.partition("\n")[0],
            page=page,
            fixes=module.FIXES,
            detect=module.detect,
            fact=getattr(module, "FACT", False),
            last_resort=getattr(module, "LAST_RESORT", False),
            concerns=getattr(module, "CONCERNS", ("input",)),
        )
    return MappingProxyType(dict(sorted(causes.items())))


def diagnose(job: Job, measured: Measurement) -> tuple[Finding, ...]:
    """What is wrong with this job, the most expensive first.

    What costs less than the noise of the observed step is not told: nobody
    could see whether its fix helped.
    """
    causes = all()
    noise = _noise(measured)
    measured = steady(job, measured)
    findings = _capped(
        [
            finding
            for cause in causes.values()
            for finding in _detect(cause, job, measured)
            if cause.fact or (finding.cost_ms > 0 and finding.cost_ms >= noise)
        ]
    )

    def rank(finding: Finding) -> tuple[float, bool, str]:
        cause = causes[finding.cause]
        return (-round(finding.cost_ms, 6), cause.last_resort, cause.name)

    return tuple(sorted(findings, key=rank))


def _capped(findings: list[Finding]) -> list[Finding]:
    """A last resort and a cure that is at hand, when they are worth about the
    same, are worth the same milliseconds: the last resort then counts for no more
    than the cure, and goes after it."""
    causes = all()
    cures = [
        finding.cost_ms
        for finding in findings
        if not (causes[finding.cause].last_resort or causes[finding.cause].fact)
    ]
    return [
        replace(finding, cost_ms=min(finding.cost_ms, max(alike, default=math.inf)))
        if causes[finding.cause].last_resort
        else finding
        for finding in findings
        for alike in [[cost for cost in cures if 2 * cost > finding.cost_ms]]
    ]


def _noise(measured: Measurement) -> float:
    """In a capture a cost is a part of the very steps that were seen: that they
    differ takes nothing from it."""
    observed = measured.step.observed
    spread = 0.0 if measured.only_observed else (observed.high - observed.low) / 2
    return max(0.02 * observed.value, spread)


def _detect(cause: Cause, job: Job, measured: Measurement) -> list[Finding]:
    """One broken cause must not cost the user the verdict of all the others."""
    try:
        findings = list(cause.detect(job, measured))
    except Exception:
        log.exception("the cause %s failed and is left out", cause.name)
        return []
    return [finding for finding in findings if math.isfinite(finding.cost_ms)]
