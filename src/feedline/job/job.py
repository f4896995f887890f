"""`Job`: what is being trained, as plain data.

Made by `loops/facts.py` from the live script; read by causes. It holds facts, no
times: those are `measure`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from feedline.job.tfdata.pipeline import Pipeline, Where

LoopKind = Literal["fit", "loop", "function", "iterator"]
"""How the job trains: `Model.fit`; a Python loop over a Dataset; a loop inside
a `tf.function`; a `tf.function` step that is handed the iterator."""

Validates = Literal["dataset", "generator", "PyDataset", "arrays"]
"""What a fit was given to validate on."""


@dataclass(frozen=True)
class Layer:
    """A Keras layer with weights."""

    name: str
    kind: str
    weights: tuple[tuple[int, ...], ...] = ()
    compute_dtype: str = "float32"
    activation: str | None = None


@dataclass(frozen=True)
class Retrace:
    """A `tf.function` that was traced again after the loop was warm."""

    function: str
    where: Where | None
    count: int
    reason: str = ""


@dataclass(frozen=True)
class Job:
    """`restarts` is False where an epoch goes on reading where the last one ended
    (`fit(steps_per_epoch=...)`). `bare`: nothing but the step stands in the loop.
    `callbacks` are those that are called for every batch."""

    kind: LoopKind
    where: Where | None = None
    pipeline: Pipeline | None = None
    layers: tuple[Layer, ...] = ()
    optimizer: str | None = None
    loss: str | None = None
    batch_size: int | None = None
    epochs: int | None = None
    steps_per_epoch: int | None = None
    restarts: bool = True
    steps_per_execution: int = 1
    eager: bool = False
    bare: bool = False
    jit_compile: bool = False
    strategy: str | None = None
    replicas: int = 1
    callbacks: tuple[str, ...] = ()
    syncs_per_step: float = 0.0
    retraces: tuple[Retrace, ...] = ()
    step_where: Where | None = None
    files: int | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def total_steps(self) -> int | None:
        if self.epochs is None or self.steps_per_epoch is None:
            return None
        return self.epochs * self.steps_per_epoch
