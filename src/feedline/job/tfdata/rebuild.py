"""A `Pipeline` back into a `tf.data.Dataset`, with whatever was altered in it.

Three cases, from cheap to dear. A stage whose arguments and inputs are as they
were read: the old object serves. The arguments are the same and an input is new:
the old object, or the several that stand behind one public method, are made
again over the new input. The arguments were altered, or the stage is new: the
public method is called with them. Functions that are already traced are used
again wherever they still fit (see `reuse.py`), and seeds unless altered.

A new stage needs an `op` and `args`; a function goes in as `args["func"]`. A
stage that was read may be given another `op` and keeps its function: that is how
a `flat_map` becomes an `interleave`.

`Pipeline.options` may be altered too; an option can be set or changed, to unset
it take out the `with_options` stage.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import tensorflow as tf

from feedline.errors import CannotRebuild
from feedline.job import marks
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata import ops
from feedline.job.tfdata.builders import Order, maker
from feedline.job.tfdata.ops import OPS, Fact
from feedline.job.tfdata.options import from_dict, to_dict
from feedline.job.tfdata.own_stage import MADE_BY
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.job.tfdata.read import inputs_first
from feedline.job.tfdata.recognised import Found, find
from feedline.job.tfdata.reuse import reusing


def rebuild(
    pipeline: Pipeline, *, fresh: bool = False, parts: dict[int, Any] | None = None
) -> Any:
    """The dataset that `pipeline` describes. `parts` is told the dataset of every
    stage, by the stage's identity.

    With `fresh`, nothing that iterators share is shared with the job: caches,
    shuffles and random sources are made again and start as they started, and
    what would be written to disk goes to a temporary folder that lives as long
    as the dataset. A cache file that is already complete is read where it is.
    """
    with tf.init_scope():
        maker = _Maker(fresh=fresh)
        made: dict[int, Any] = {}
        for stage in inputs_first(pipeline.root, lambda stage: stage.inputs):
            inputs = [made[id(one)] for one in stage.inputs]
            made[id(stage)] = maker.stage(stage, inputs)
        if parts is not None:
            parts.update(made)
        dataset = made[id(pipeline.root)]
        now = to_dict(dataset.options())
        altered = {k: v for k, v in pipeline.options.items() if now.get(k) != v}
        return dataset.with_options(from_dict(altered)) if altered else dataset


class _Maker:
    def __init__(self, *, fresh: bool) -> None:
        self._fresh = fresh

    def stage(self, stage: Stage, inputs: list[Any]) -> Any:
        found = stage.handle if isinstance(stage.handle, Found) else None
        try:
            if found is not None and _is_as_read(stage, found):
                dataset = self._remake(found, inputs)
            else:
                dataset = self._make(stage.op, dict(stage.args), found, inputs)
        except Exception as error:  # of TensorFlow, or of the user's own function
            raise CannotRebuild(stage.label(), stage.where, str(error)) from error
        if found is None or dataset is not found.dataset:
            setattr(dataset, marks.WHERE, stage.where)
        return dataset

    def _remake(self, found: Found, inputs: list[Any]) -> Any:
        """The same stage over `inputs`."""
        pairs = zip(found.inputs, inputs, strict=True)
        if found.composite:
            return self._graft(found.dataset, {id(old): new for old, new in pairs})
        renewed = self._fresh and ops.has(found.op, Fact.STATE)
        if all(old is new for old, new in pairs) and not renewed:
            return found.dataset
        return self._make(found.op, dict(found.args), found, inputs)

    def _graft(self, dataset: Any, replaced: dict[int, Any]) -> Any:
        """`dataset` and all that lies behind it, up to the `replaced` ones."""
        if id(dataset) not in replaced:
            found = find(dataset)
            inputs = [self._graft(one, replaced) for one in found.inputs]
            replaced[id(dataset)] = self._remake(found, inputs)
        return replaced[id(dataset)]

    def _make(
        self, name: str, args: dict[str, Any], old: Found | None, inputs: list[Any]
    ) -> Any:
        """A dataset of the operation `name`, with what `old` has to give."""
        if MADE_BY in args:
            (source,) = inputs
            return args[MADE_BY](source)
        if name not in OPS:
            raise ValueError("feedline does not know how this stage is made")
        functions: list[Any] = []
        traced: tuple[Any, ...] = ()
        if "func" in args:
            functions = [args.pop("func")]
        elif old is not None and old.composite:
            functions = [func for _, func in old.users]
        elif old is not None:
            traced = old.traced
            functions = [tf_private.func(one) for one in traced]
        like = old if old is not None and old.op == name else None
        same_seed = like is not None and args.get("seed") == like.args.get("seed")
        scratch = self._move_to_scratch(name, args)
        with reusing(traced, like.seeds if like is not None and same_seed else ()):
            old_dataset = like.dataset if like is not None else None
            order = Order(inputs, args, functions, old_dataset)
            dataset = maker(OPS[name])(order)
        if scratch is not None:
            weakref.finalize(dataset, shutil.rmtree, scratch, ignore_errors=True)
        return dataset

    def _move_to_scratch(self, name: str, args: dict[str, Any]) -> str | None:
        """A fresh pipeline does not write where the job writes."""
        at = OPS[name].writes_to
        if not (self._fresh and args.get(at)):
            return None
        if name == ops.CACHE and tf.io.gfile.exists(f"{args[at]}.index"):
            return None
        scratch = tempfile.mkdtemp(prefix="feedline-")
        args[at] = str(Path(scratch, name))
        return scratch


def _is_as_read(stage: Stage, found: Found) -> bool:
    return (
        stage.op == found.op
        and len(stage.inputs) == len(found.inputs)
        and (stage.args is found.args or dict(stage.args) == dict(found.args))
    )
