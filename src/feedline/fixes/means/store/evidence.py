"""What a pipeline reads from outside, as it was, and whether it still is.

Its files, and the values that Python in it reads. These are found stage by stage, the
source first, and looked at before anything behind them is read: the names of files
may stand in a file themselves. A function that holds a variable, a table that can be
changed, or a dataset has no evidence: those are made to be changed, at any moment of
an epoch, and nothing that depends on them is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import tensorflow as tf

from feedline.errors import FeedlineError
from feedline.fixes.means.store.files import MOST, Files, below
from feedline.fixes.means.store.fingerprint import file_names
from feedline.fixes.means.store.graphs import Unknown, digest, nodes_of
from feedline.fixes.means.store.names import strings_of
from feedline.fixes.means.store.python import values_read
from feedline.job.tfdata import ops
from feedline.job.tfdata.constant import is_same_stage, why_not_same
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.job.tfdata.rebuild import rebuild
from feedline.job.tfdata.recognised import Found, find
from feedline.job.tfdata.tables import holds_only_fixed

_log = logging.getLogger(__name__)


class Evidence:
    """`changed` says what is not as it was. It may be asked from any thread."""

    def __init__(self) -> None:
        self.files = Files()
        self._values: list[tuple[str, Callable[[], bytes], bytes]] = []

    def __bool__(self) -> bool:
        return bool(len(self.files) or self._values)

    def watch(self, what: str, look: Callable[[], bytes]) -> None:
        self._values.append((what, look, look()))

    def changed(self) -> str:
        """What has changed since, in words; empty where nothing has. What cannot be
        looked at any more counts as changed."""
        try:
            for what, look, was in self._values:
                if look() != was:
                    return what
            return self.files.changed()
        except Exception as error:
            _log.info("what a cache depends on cannot be seen any more", exc_info=True)
            return str(error) or type(error).__name__


def evidence_of(pipeline: Pipeline) -> Evidence:
    """Of all that `pipeline`, which was read from a dataset, depends on. Raises
    `Unknown` with the reason where it may give something else in another pass."""
    if reason := why_not_same(pipeline.root):
        raise Unknown(reason)
    evidence = Evidence()
    try:
        with tf.init_scope():
            for stage in pipeline.stages():
                for found, named in _objects(stage):
                    _look_at(found, named, evidence)
    except (FeedlineError, tf.errors.OpError, OSError, ValueError) as error:
        raise Unknown(f"{type(error).__name__}: {error}") from error
    return evidence


def _look_at(found: Found, named: list[Any], evidence: Evidence) -> None:
    for traced in found.traced:
        _check_held(traced)
        for name, look in values_read(traced):
            evidence.watch(f"{name}, which a Python function reads,", look)
    if found.op == ops.LOAD:
        folder = str(found.args["path"])
        evidence.watch(folder, lambda: digest(below(folder)))
    for names in file_names(found, named, python=True):
        evidence.files.add(names)


def _objects(stage: Stage) -> Iterator[tuple[Found, list[Any]]]:
    """The dataset objects behind a stage, inputs first, each with what reads the
    strings of its inputs."""
    found = stage.handle
    if not isinstance(found, Found):
        raise Unknown(f"{stage.label()} was not read from a dataset")
    if not found.composite or ops.has(found.op, Fact.TOLD_BY_ARGUMENTS):
        yield (
            found,
            [partial(_strings, Pipeline(one)) for one in stage.inputs],
        )
        return
    known = {id(one) for one in found.inputs}
    yield from _parts(found.dataset, known)


def _parts(dataset: Any, known: set[int]) -> Iterator[tuple[Found, list[Any]]]:
    if id(dataset) in known:
        return
    known.add(id(dataset))
    found = find(dataset)
    same = is_same_stage(found.op) and not ops.has(found.op, Fact.REPEATS)
    if not same or found.op == ops.SHUFFLE:
        raise Unknown(f"{found.op} inside of another stage")
    for one in found.inputs:
        yield from _parts(one, known)
    yield found, [partial(strings_of, one, MOST) for one in found.inputs]


def _strings(pipeline: Pipeline) -> Iterator[bytes]:
    return strings_of(rebuild(pipeline, fresh=True), MOST)


def _check_held(traced: Any) -> None:
    """Raises where a function holds anything that can be changed."""
    from feedline.job.private.tensorflow import op_def_registry

    resource = tf.resource.as_datatype_enum
    for node in nodes_of(traced):
        definition = op_def_registry.get(node.op)
        if definition is None:
            raise Unknown(f"{node.op}, which feedline does not know, in a function")
        made = [arg.type for arg in definition.output_arg]
        if resource in made and node.op != "Placeholder":
            raise Unknown(f"{node.op} in a function")
    if not holds_only_fixed(traced):
        raise Unknown("a function that holds a variable, a table or a dataset")
