"""What the what-if model takes for granted, with the figures of this report."""

from __future__ import annotations

from feedline.report.format import ms
from feedline.report.report import Report
from feedline.report.whatif import Model


def assumptions(model: Model, report: Report) -> tuple[str, ...]:
    measured = model.scenarios[0]
    device = ", ".join(report.machine.devices) or "the device"
    cores = f"{model.cores} core" + ("s" if model.cores != 1 else "")
    overhead, transfer = ms(measured.overhead_ms), ms(measured.transfer_ms)
    told = [
        f"Speed is relative to what was measured: {device}.",
        (
            "The step's computing shrinks with the speed; what it costs however little "
            f"it computes ({overhead}) and copying its batch ({transfer}) do not."
        ),
        (
            "More cores do not make the step itself faster. Stages whose threads "
            "TensorFlow chooses use all cores; others keep the threads they have."
        ),
        "Storage keeps up, memory suffices, and the batch size stays.",
        (
            f"A worker is one more machine like this one ({cores}), which prepares "
            "batches and sends them over a network that keeps up."
        ),
    ]
    if report.only_observed:
        told.append(
            "The stages' costs were seen in a capture, where stages may wait for each "
            "other. Take the figures as rough."
        )
    if any(part.python for part in measured.parts):
        told.append(
            "Python in the pipeline runs on one thread, however many there are."
        )
    if any(part.first_ms != part.ms for s in model.scenarios for part in s.parts):
        told.append(
            "The cache is filled in the first epoch and does not make that faster."
        )
    if abs(measured.scale - 1) > 0.02:
        told.append(
            f"The stages' costs are multiplied by {measured.scale:.2f}, so that the "
            "model gives the step that was observed."
        )
    if abs(measured.rest - 1) > 0.1:
        told.append(
            "The stages do not explain the observed step: the model's step is "
            f"multiplied by {measured.rest:.2f}. Take the figures as rough."
        )
    return tuple(told)
