"""The stages of a pipeline, each as a `Part`: what was proved of one holds as long as
its part is told the same.

File names are among a reader's arguments. Data that is given as tensors counts by type
and shape: what is in it may be another in every run.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from feedline.fixes.identity.code import Teller
from feedline.fixes.identity.part import UNTOLD, Part, digest
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata.pipeline import Function, Pipeline, Stage

log = logging.getLogger(__name__)


def parts(pipeline: Pipeline) -> Iterator[Part]:
    """Every stage, the source first, and what holds for the whole."""
    order = {id(stage): place for place, stage in enumerate(pipeline.stages())}
    for stage in pipeline.stages():
        inputs = [order[id(upstream)] for upstream in stage.inputs]
        at = f" at {stage.where}" if stage.where else ""
        yield Part(
            f"stage {order[id(stage)]}",
            f"{stage.label()}{at}",
            {"kind": digest((stage.op, inputs)), **_facts(stage)},
        )
    yield Part(
        "pipeline",
        "the pipeline",
        {
            "options": digest(Teller().tell(dict(sorted(pipeline.options.items())))),
            "cardinality": str(pipeline.cardinality),
        },
    )


def _facts(stage: Stage) -> dict[str, str]:
    found = stage.handle
    facts = {
        "arguments": told(_arguments(stage)),
        "elements": digest([(each.dtype, each.shape) for each in stage.spec]),
        "seeds": told([list(map(_number, pair)) for pair in _seeds(found)]),
    }
    for place, function in enumerate(stage.functions):
        facts[f"function {place}"] = digest(_facts_of(function))
    for place, (traced, func) in enumerate(getattr(found, "users", ())):
        facts[f"code {place}"] = told(func)
        facts |= _traced(place, traced)
    known = {id(traced) for traced, _ in getattr(found, "users", ())}
    others = [t for t in getattr(found, "traced", ()) if id(t) not in known]
    for place, traced in enumerate(others, start=len(known)):
        facts |= _traced(place, traced)
    return facts


def _traced(place: int, traced: Any) -> dict[str, str]:
    from feedline.fixes.identity.graphs import graph_of, seeds_in

    try:
        seeds = seeds_in(traced)
        return {
            f"seeds {place}": digest(seeds) if seeds else "none",
            f"graph {place}": graph_of(traced),
        }
    except Exception:
        log.info("a function's graph cannot be told", exc_info=True)
        return {f"graph {place}": UNTOLD}


def _arguments(stage: Stage) -> dict[str, Any]:
    data = tf_private.tensors.get(getattr(stage.handle, "dataset", None), ())
    shapes = [(str(each.dtype), str(each.shape)) for each in data or ()]
    return {**dict(sorted(stage.args.items())), "tensors": shapes}


def _seeds(found: Any) -> list[Any]:
    return list(getattr(found, "seeds", ()))


def _number(seed: Any) -> Any:
    return seed.numpy().item() if hasattr(seed, "numpy") else seed


def _facts_of(function: Function) -> dict[str, Any]:
    facts = asdict(function)
    del facts["where"]
    return {**facts, "ops": sorted(function.ops.items())}


def told(value: Any) -> str:
    """Any value of Python's, as a digest."""
    try:
        return digest(Teller().tell(value))
    except Exception:  # an object of the user's may answer with anything
        log.info("a part of the job cannot be told", exc_info=True)
        return UNTOLD
