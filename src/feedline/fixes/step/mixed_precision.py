"""Matrix products in half precision

Tensor cores multiply 16-bit numbers several times faster than 32-bit ones. The
weights stay in 32 bits; the products are rounded: numeric. Proposed only where
the layers' own products were measured faster on the device of the job.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from feedline.fixes.args import Takes, word
from feedline.fixes.fix import CannotFix, Case, Edit, Grade, Proposal
from feedline.fixes.patching import Patch
from feedline.fixes.place import Place
from feedline.fixes.target import Target, Undo, all_of
from feedline.job.private import keras as keras_private

TAKES = Takes(args={"policy": word("mixed_bfloat16")})


def propose(case: Case) -> Iterator[Proposal]:
    if case.job.kind != "fit" or not case.measured.machine.tensor_cores:
        return
    if any(edit.fix == "mixed-precision" for edit in case.edits):
        return
    spared = sum(
        max(0.0, each.as_is - each.half)
        for each in case.measured.matmuls
        if each.half is not None
    )
    if spared > 0:
        yield Proposal(
            Edit("mixed-precision", None, {"policy": "mixed_bfloat16"}),
            "numeric",
            case.job.where,
            step_ms=max(case.measured.step.ceiling.value - spared, 0.0),
        )


def least(edit: Edit) -> Grade:  # noqa: ARG001
    return "numeric"


def install(target: Target, edit: Edit) -> Undo:
    """Layers compute in the policy's dtype from the next trace on. bfloat16 has
    float32's range, so the loss needs no scaling."""
    import keras

    policy = keras.DTypePolicy(edit.args["policy"])
    return all_of([target.set(layer, dtype_policy=policy) for layer in check(target)])


def check(target: Target) -> list[Any]:
    """The layers that compute in 32 bits, of which there must be some."""
    layers = keras_private.flatten_layers(target.model)()
    found = [layer for layer in layers if layer.dtype_policy.name == "float32"]
    if not found:
        raise CannotFix("no layer of the model computes in float32")
    return found


def _comment(place: Place, _: str) -> str:
    policy = place.edit.args.get("policy", "mixed_bfloat16")
    return (
        f'keras.mixed_precision.set_global_policy("{policy}") before the model is made'
    )


PATCH = Patch(_comment)
