"""The experiment that finds fixes: measure a live loop, then try what would help.

One generator for everyone who looks for fixes: `feedline.tune`, a fit under
`feedline run`, and a rehearsal. Whoever drives the loop drives this.
"""

from __future__ import annotations

from collections.abc import Callable

from feedline.fixes.fix import Grade
from feedline.job.job import Job
from feedline.job.loops.base import Loop
from feedline.job.loops.loop import Clock, Experiment
from feedline.job.script.watch import Watch
from feedline.measure.examine import Examiner
from feedline.measure.examine_validation import ValidationExaminer
from feedline.measure.measurement import Measurement
from feedline.prove.proof import Cured
from feedline.session.cure import Cure

_EXAMINING = 0.5  # of the time
_LEAST_SEARCHING = 0.25


def examine_and_search(
    loop: Loop,
    watch: Watch,
    clock: Clock,
    seconds: float,
    allowed: tuple[Grade, ...],
    *,
    say: Callable[[str], None] = lambda _: None,
    used: frozenset[int] = frozenset(),
    reached: frozenset[int] = frozenset(),
    examined: Callable[[Job, Measurement], None] = lambda *_: None,
    training_s: float | None = None,
    validates: bool = False,
) -> Experiment[tuple[Job, Measurement, Cured]]:
    """`examined` is told what was measured, whatever becomes of the search; `used` and
    `reached` are stages of the pipeline by number, as `Cure` takes them. `training_s`
    is how long the training takes as it is, where what is tried must pay. Of a loop
    that `validates` only the input is examined and cured."""
    until = clock.now() + seconds
    kind = ValidationExaminer if validates else Examiner
    job, measured = yield from kind(
        loop, watch, clock, _EXAMINING * seconds, say=say
    ).examine()
    examined(job, measured)
    cure = Cure(
        loop,
        clock,
        max(_LEAST_SEARCHING * seconds, until - clock.now()),
        allowed,
        say=say,
        used=used,
        reached=reached,
        training_s=training_s,
        input_only=validates,
    )
    return job, measured, (yield from cure.search(job, measured))
