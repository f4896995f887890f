"""What a plan for a live job rests on: its pipeline, its step, this machine."""

from __future__ import annotations

from feedline.files.cores import cores
from feedline.fixes.binding import Binding
from feedline.fixes.identity.part import Part
from feedline.fixes.identity.stages import parts
from feedline.fixes.identity.world import machine, versions
from feedline.job.tfdata.pipeline import Pipeline


def bound(pipeline: Pipeline, step: Part | None = None) -> Binding:
    """To the pipeline, the versions and the machine; to the step where it is given."""
    about = () if step is None else (step,)
    return Binding((*parts(pipeline), *about, versions(), machine(cores())))


def bound_without_input(step: Part) -> Binding:
    """The same for a training that no dataset feeds."""
    nothing = Part("pipeline", "the training without a dataset")
    return Binding((nothing, step, versions(), machine(cores())))
