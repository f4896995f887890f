"""The next batch is prepared while the model works on this one

`prefetch(tf.data.AUTOTUNE)` at the end of the pipeline. Nothing about the elements
changes: exact. Not used where running a function early could be noticed: it reads a
variable that the training changes, prints, or runs Python that may keep state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedline.causes.asking import PREFETCH
from feedline.fixes import conditions
from feedline.fixes.args import Takes
from feedline.fixes.fix import CannotFix, Case, Edit, Proposal
from feedline.fixes.patching import Patch, Source
from feedline.fixes.place import Place
from feedline.job.tfdata import ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage

TAKES = Takes()
AUTOTUNE = -1


def propose(case: Case) -> Iterator[Proposal]:
    if not conditions.holds(check, case.pipeline):
        return
    if any(cost.injected and cost.asynchronous for cost in case.costs):
        return
    yield Proposal(
        Edit("prefetch"), "exact", case.pipeline.root.where, (*case.costs, PREFETCH)
    )


def check(pipeline: Pipeline) -> None:
    """Nothing is prepared ahead of the step yet, and everything may be."""
    last = pipeline.root
    while last.has(Fact.SAYS_ONLY):
        last = last.inputs[0]
    if last.op == ops.PREFETCH:
        raise CannotFix("the pipeline ends with a prefetch already")
    conditions.ahead(pipeline)


def apply(pipeline: Pipeline, edit: Edit) -> Pipeline:  # noqa: ARG001
    check(pipeline)
    root = pipeline.root
    ahead = Stage(
        ops.PREFETCH,
        inputs=(root,),
        args={"buffer_size": AUTOTUNE},
        spec=root.spec,
        where=root.where,
    )
    return replace(pipeline, root=ahead)


def _comment(_: Place, tune: str) -> str:
    return f"end the dataset with .prefetch({tune})"


def _edit(source: Source, _: Place) -> None:
    source.to_end()
    if source.name != "prefetch":
        source.append("prefetch", source.autotune())


PATCH = Patch(_comment, _edit, at_end=True)
