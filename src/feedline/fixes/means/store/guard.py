"""A cache that looks, at the start of every pass, whether it may still be read.

When a pass begins, however it begins (an iterator, a `repeat`, a loop inside of a
`tf.function`, a dataset that was made from this one), what the elements depend on is
looked at again. As long as it is what it was when the fix was applied, the kept
elements are read; once it is not, the source is, from then on. Either way the stages
behind it, with the state of their shuffles, are the same objects in the same state,
so the data goes on as it would have without a cache.

The choice is made inside of the pipeline: a `flat_map` over one element, whose function
asks Python and returns one of two datasets. It costs half a microsecond an element.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from feedline.fixes.means.store.errors import CHANGED
from feedline.fixes.means.store.evidence import Evidence
from feedline.fixes.means.store.unlisted import unlisted
from feedline.job.private import tensorflow as tf_private
from feedline.job.private.tensorflow import dataset_ops
from feedline.job.tfdata import ops
from feedline.job.tfdata.own_stage import MADE_BY, OwnStage

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Guard:
    """How a guarded cache is made over a source; `kept` is a cache in memory unless
    told."""

    evidence: Evidence
    kept: Any = None

    def __call__(self, source: Any) -> Guarded:
        return Guarded(source, self.evidence, self.kept)


class Guarded(
    OwnStage,
    dataset_ops.UnaryUnchangedStructureDataset,  # type: ignore[misc]
):
    """`source`, from `kept` as long as `evidence` holds; `kept` is a cache in memory
    unless told."""

    def __init__(self, source: Any, evidence: Evidence, kept: Any = None) -> None:
        self.source, self.evidence, self.kept = source, evidence, kept
        known = source.cache() if kept is None else kept
        watch = _Watch(evidence)  # not `self`: a cache must go with its last reader

        @tf.autograph.experimental.do_not_convert
        def either(_: Any) -> Any:
            holds = tf.ensure_shape(tf.numpy_function(watch.holds, [], tf.bool), [])
            chosen = tf.cond(
                holds,
                lambda: tf.identity(tf_private.variant_tensor(known)),
                lambda: tf.identity(tf_private.variant_tensor(source)),
            )
            return dataset_ops._VariantDataset(chosen, source.element_spec)

        self._chosen = tf.data.Dataset.range(1).flat_map(either)
        count = int(source.cardinality())
        if count >= 0:
            counted = tf.data.experimental.assert_cardinality(count)
            self._chosen = self._chosen.apply(counted)
        super().__init__(source, tf_private.variant_tensor(self._chosen))

    def stands_for(self) -> str:
        return ops.CACHE

    def reads_from(self) -> Any:
        return self.source

    def stage_arguments(self) -> dict[str, Any]:
        return {"filename": "", MADE_BY: Guard(self.evidence, self.kept)}

    def _functions(self) -> Any:
        return tf_private.functions(self._chosen)()


class _Watch:
    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._lock = threading.Lock()
        self._changed = ""

    def holds(self) -> Any:
        with unlisted(), self._lock:
            if not self._changed:
                self._changed = self._evidence.changed()
                if self._changed:
                    _log.warning(CHANGED, self._changed)
            return np.bool_(not self._changed)
