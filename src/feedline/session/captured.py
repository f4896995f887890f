"""From a profiler capture to a Report: the same causes as `why`, on what was
observed. Nothing is run and nothing is tried, and the report says so.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from feedline import __version__
from feedline.job.job import Job, Retrace
from feedline.measure.experiment import estimate
from feedline.measure.measurement import Estimate, Machine, Measurement, StepTimes
from feedline.measure.profile import source
from feedline.measure.profile.capture import Capture
from feedline.measure.profile.examine import examine
from feedline.report.basis import Basis
from feedline.report.report import Report
from feedline.session.judge import judge

_FIT = ("train_function", "multi_step_on_iterator", "one_step_on_iterator")


def report_of(file: Path) -> Report:
    began = perf_counter()
    capture = examine(source.load(file), str(file))
    return judge(
        Basis.of(
            job_of(capture),
            measured_from(capture),
            script=str(file),
            seconds=perf_counter() - began,
            version=__version__,
        )
    )


def job_of(capture: Capture) -> Job:
    """What can be known of the job: no line of its source, no layer."""
    return Job(
        kind="fit" if capture.called in _FIT else "loop",
        pipeline=capture.pipeline,
        replicas=max(1, len(capture.units)),
        eager=capture.eager_ops > 20,
        retraces=tuple(
            Retrace(name, None, count) for name, count in capture.traced if count > 1
        ),
        notes=capture.notes,
    )


def measured_from(capture: Capture) -> Measurement:
    four, total = capture.four(), max(capture.total, 1e-9)
    # Resampling thousands of steps would say no more than hundreds do.
    observed = estimate(capture.step_ms[:1000])
    scale = observed.value / total
    fed = observed.value - four["input"] * scale
    ceiling = fed - four["transfer"] * scale
    unknown = []
    if capture.cores is None and capture.stages and capture.input_explained:
        unknown.append(
            "the number of the host's cores: the capture does not have it, so the "
            "threads of one pool were counted"
        )
    if not capture.input_explained:
        unknown.append(
            "which stage of the input is slow: the stages in the capture worked far "
            "less than the step waited, and one that began earlier is not in it. Take "
            "a capture of several steps"
        )
    return Measurement(
        machine=_machine(capture),
        step=StepTimes(
            observed=observed,
            host_fed=_exactly(fed),
            ceiling=_exactly(ceiling),
            steps=len(capture.step_ms),
            overhead=four["overhead"] * scale,
            host_work=capture.parts["python"] * scale,
            tracing=capture.parts["compile"] * scale,
        ),
        stages=capture.stages if capture.input_explained else (),
        trace_ms=capture.parts["compile"] * scale,
        capture=capture,
        only_observed=True,
        unknown=tuple(unknown),
    )


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value)


def _machine(capture: Capture) -> Machine:
    return Machine(
        cores=capture.cores or capture.threads,
        memory_gb=0.0,
        free_memory_gb=0.0,
        devices=tuple(unit.label for unit in capture.units) or ("CPU:0",),
        tensor_cores=any(unit.tensor_cores for unit in capture.units),
    )
