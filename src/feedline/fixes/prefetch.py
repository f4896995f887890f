"""The next batch is prepared while the model works on this one

`prefetch(tf.data.AUTOTUNE)` at the end of the pipeline. Nothing about the
elements changes: exact. Not where a function of the pipeline reads a variable: one
that the training changes would be read too early.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.causes.look import PREFETCH
from feedline.fixes.fix import Case, Edit, Kind, Proposal
from feedline.job.pipeline import Pipeline, Stage

KIND: Kind = "pipeline"
AUTOTUNE = -1
_COATS = ("with_options", "assert_cardinality")


def propose(case: Case) -> Iterator[Proposal]:
    if case.sees_training:
        return
    last = case.pipeline.root
    while last.op in _COATS:
        last = last.inputs[0]
    if last.op == "prefetch" or any(c.injected and c.asynchronous for c in case.costs):
        return
    yield Proposal(
        Edit("prefetch"), "exact", case.pipeline.root.where, (*case.costs, PREFETCH)
    )


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:  # noqa: ARG001
    root = pipeline.root
    ahead = Stage(
        "prefetch",
        inputs=(root,),
        args={"buffer_size": AUTOTUNE},
        spec=root.spec,
        where=root.where,
    )
    return replace(pipeline, root=ahead)
