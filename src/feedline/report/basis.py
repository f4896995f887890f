"""`Basis`: all that a verdict is made from, as plain data.

The process that trains sends it, a report keeps it, and `session/judge.py` makes a
`Report` of it: at once, or later with the causes of a newer feedline. Pipelines stand
beside the job and the measurement that they belong to, as lists (`PlainPipeline`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from feedline.job.job import Job
from feedline.job.tfdata.plain import PlainPipeline, flatten, restore
from feedline.measure.measurement import Measurement
from feedline.prove.proof import Cured

FORMAT = 1
"""Of what is kept in a report; another number is not judged again."""


@dataclass(frozen=True)
class Trained:
    """The training that went on with the fixes, and what measuring it took;
    `validations` are the passes over the validation data with fixes of their own."""

    steps: int = 0
    seconds: float = 0.0
    measuring_s: float = 0.0
    validations: int = 0
    validations_s: float = 0.0


@dataclass(frozen=True)
class Basis:
    """`seconds` is how long it all took, `version` the feedline that measured;
    `validated` is what was tried and proved for the validation."""

    job: Job
    measurement: Measurement
    cured: Cured | None = None
    pipeline: PlainPipeline | None = None
    captured: PlainPipeline | None = None
    script: str = ""
    seconds: float = 0.0
    version: str = ""
    trained: Trained | None = None
    validated: Cured | None = None
    format: int = FORMAT

    @classmethod
    def of(
        cls,
        job: Job,
        measured: Measurement,
        cured: Cured | None = None,
        *,
        script: str = "",
        seconds: float = 0.0,
        version: str = "",
    ) -> Basis:
        capture = measured.capture
        captured = capture.pipeline if capture is not None else None
        if capture is not None:
            measured = replace(measured, capture=replace(capture, pipeline=None))
        return cls(
            replace(job, pipeline=None),
            measured,
            cured,
            None if job.pipeline is None else flatten(job.pipeline),
            None if captured is None else flatten(captured),
            script,
            seconds,
            version,
        )

    def whole(self) -> tuple[Job, Measurement]:
        """The job and the measurement with their pipelines. Raises ValueError where
        one, which may come from a file, is damaged."""
        job, measured = self.job, self.measurement
        if self.pipeline is not None:
            job = replace(job, pipeline=restore(self.pipeline))
        if self.captured is not None and measured.capture is not None:
            capture = replace(measured.capture, pipeline=restore(self.captured))
            measured = replace(measured, capture=capture)
        return job, measured


def plain_value(value: Any) -> Any:
    """For msgspec, where it meets a type it does not know: measuring leaves numbers
    of NumPy's here and there, and text or numbers of a class of the script's own."""
    for plain in (str, int, float):
        if type(value) is not plain and isinstance(value, plain):
            return plain(value)
    try:
        return value.item()
    except AttributeError:
        raise TypeError(f"a {type(value).__name__} cannot be sent") from None
