"""The one place that judges: what was measured goes in, a `Report` comes out.

`feedline why` and `run` call it with what the script's process sent, `feedline.why`,
`feedline trace` and `feedline show` with what they have at hand. Pure: it needs neither
TensorFlow nor the script.
"""

from __future__ import annotations

from dataclasses import replace

from feedline import __version__, causes, fixes
from feedline.errors import ReportError
from feedline.report.basis import Basis, Trained
from feedline.report.build import make
from feedline.report.report import Report
from feedline.report.rounding import tidy


def judge(basis: Basis) -> Report:
    """The verdict of this feedline's causes."""
    job, measured = basis.whole()
    report = make(
        job,
        measured,
        causes.diagnose(job, measured),
        {name: cause.title for name, cause in causes.all().items()},
        script=basis.script,
        version=__version__,
        seconds=basis.seconds,
        cured=basis.cured,
        cures={name: fix.title for name, fix in fixes.all().items()},
        validated=basis.validated,
    )
    return with_training(replace(report, basis=basis), basis.trained)


def judge_again(report: Report) -> Report:
    """A saved report, judged by the causes of today. Raises ReportError where the
    measurement in it makes no sense."""
    if report.basis is None:
        return report
    try:
        return judge(report.basis)
    except Exception as error:
        raise ReportError(
            f"its measurement is damaged ({type(error).__name__}: {error}); "
            "--as-saved shows the verdict that was saved with it"
        ) from None


def _with_validations(report: Report, trained: Trained | None) -> Report:
    """What the passes of the validation with fixes took."""
    row, basis = report.validation, report.basis
    if row is None or trained is None or not trained.validations:
        return report
    passes, took_s = trained.validations, trained.validations_s
    return replace(
        report,
        basis=None if basis is None else replace(basis, trained=trained),
        validation=replace(
            row,
            after_passes=passes,
            after_s=tidy(took_s / passes),
            saved_s=tidy(passes * row.seconds - took_s),
        ),
    )


def with_training(report: Report, trained: Trained | None) -> Report:
    """What the training with the fixes took, and what it would have taken: by the
    step as observed or as timed beside the fixed one, whichever is shorter."""
    report = _with_validations(report, trained)
    after = report.after
    if after is None or trained is None:
        return report
    steps, seconds = trained.steps, trained.seconds
    beside = after.before_ms or after.observed_ms * after.speedup
    before = min(beside, report.step.observed_ms)
    basis = report.basis
    return replace(
        report,
        basis=None if basis is None else replace(basis, trained=trained),
        after=replace(
            after,
            steps=steps or None,
            seconds=tidy(seconds) if steps else None,
            saved_s=tidy(steps * before / 1e3 - seconds) if steps else None,
            measuring_s=tidy(trained.measuring_s),
        ),
    )
