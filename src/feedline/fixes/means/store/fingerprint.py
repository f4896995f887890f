"""The key of a pipeline: a digest of all that its elements depend on.

The same script gives the same key in every run, and another key as soon as the
elements could be others: another operation or argument, another function or
captured array, other data, a file of another size or time, another TensorFlow or
processor. Where that cannot be told (random, Python, one-shot, unknown stages;
variables and tables in a function) there is no key, and nothing is kept.

How fast it runs does not count: parallelism, prefetching, names.
"""

from __future__ import annotations

import logging
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from feedline.errors import FeedlineError
from feedline.fixes.means.store.files import Files, below
from feedline.fixes.means.store.graphs import (
    Unknown,
    digest,
    function_digest,
    tensor_digest,
)
from feedline.fixes.means.store.names import names_in, strings_of
from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata import graph, ops
from feedline.job.tfdata.ops import Fact
from feedline.job.tfdata.pipeline import Pipeline, Stage
from feedline.job.tfdata.rebuild import rebuild
from feedline.job.tfdata.recognised import Found, find

_SCHEMA = 1
_SPEED = {
    *("num_parallel_calls", "num_parallel_reads", "name", "synchronous"),
    *("use_unbounded_threadpool", "prefetch_buffer_size", "buffer_output_elements"),
    *("prefetch_input_elements", "log_warning"),
}
_log = logging.getLogger(__name__)


def key_or_reason(
    pipeline: Pipeline, upto_stage: Stage | None = None, *, reordered: bool = False
) -> tuple[str | None, str]:
    """The key of what `upto_stage` gives, the last stage unless told; or None and why
    it may not be kept. `reordered` takes stages that give their elements in any
    order for the order they happen to give."""
    stage = pipeline.root if upto_stage is None else upto_stage
    try:
        if pipeline.options.get("deterministic") is False and not reordered:
            raise Unknown("options.deterministic = False: the order may vary")
        with tf.init_scope():
            made = _Key(reordered=reordered).stage(stage)
    except Unknown as reason:
        _log.debug("%s has no key: %s", stage.label(), reason)
        return None, str(reason)
    except (FeedlineError, tf.errors.OpError, OSError, ValueError) as error:
        _log.debug("%s has no key", stage.label(), exc_info=True)
        return None, f"{type(error).__name__}: {error}"
    return digest(_SCHEMA, _world(), made).hex(), ""


@cache
def _world() -> tuple[str, ...]:
    """What computes: another TensorFlow or processor may round differently."""
    processor = ""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "flags", "Features")):
                processor += line
                if line.startswith(("flags", "Features")):
                    break
    except OSError:
        processor = platform.processor()
    return tf.__version__, np.__version__, platform.machine(), processor


class _Key:
    def __init__(self, *, reordered: bool) -> None:
        self._reordered = reordered
        self._made: dict[int, bytes] = {}

    def stage(self, stage: Stage) -> bytes:
        for one in Pipeline(stage).stages():  # inputs first
            if id(one) not in self._made:
                self._made[id(one)] = self._stage(one)
        return self._made[id(stage)]

    def _stage(self, stage: Stage) -> bytes:
        found = stage.handle
        if not isinstance(found, Found) or "func" in stage.args:
            raise Unknown(f"{stage.label()} was not read from a dataset")
        self._refuse(stage)
        inputs = [self._made[id(one)] for one in stage.inputs]
        if stage.has(Fact.PASSES_ON) or (
            stage.op == ops.CACHE and not stage.args.get("filename")
        ):
            return inputs[0]
        named = [
            lambda one=one: strings_of(rebuild(Pipeline(one), fresh=True))
            for one in stage.inputs
        ]
        if found.composite and not stage.has(Fact.TOLD_BY_ARGUMENTS):
            known = dict(zip(map(id, found.inputs), inputs, strict=True))
            return digest(
                stage.op, _plain(stage.args), self._object(found.dataset, known)
            )
        return self._one(replace_args(found, stage.args), inputs, named)

    def _refuse(self, stage: Stage) -> None:
        at = f"{stage.label()}: "
        if stage.random:
            raise Unknown(at + "random")
        if stage.python:
            raise Unknown(at + "Python code")
        if not stage.rereadable:
            raise Unknown(at + "can be read only once")
        if _is_untold(stage.op) or (
            stage.op == ops.CACHE and stage.args.get("filename")
        ):
            raise Unknown(at + "what it gives cannot be told from outside")
        if any(function.stateful for function in stage.functions):
            raise Unknown(at + "keeps state between elements")
        self._refuse_order(stage.op, stage.args, stage.handle.dataset, at)

    def _refuse_order(
        self, op: str, args: Mapping[str, Any], dataset: Any, at: str
    ) -> None:
        if self._reordered:
            return
        if args.get("deterministic") is False or args.get("sloppy"):
            raise Unknown(at + "the order may vary")
        unseen = op == ops.INTERLEAVE and tf_private.num_parallel_calls.on(dataset)
        if unseen and not graph.attributes(dataset):
            raise Unknown(at + "whether the order may vary cannot be told")

    def _object(self, dataset: Any, known: dict[int, bytes]) -> bytes:
        """One of the objects behind a public method, down to its inputs."""
        if id(dataset) in known:
            return known[id(dataset)]
        found = find(dataset)
        if _is_untold(found.op) or found.op in (ops.SHUFFLE, ops.RANDOM):
            raise Unknown(f"{found.op} inside of another stage")
        self._refuse_order(found.op, found.args, dataset, f"{found.op}: ")
        inputs = [self._object(one, known) for one in found.inputs]
        named = [lambda one=one: strings_of(one) for one in found.inputs]
        known[id(dataset)] = self._one(found, inputs, named)
        return known[id(dataset)]

    def _one(self, found: Found, inputs: list[bytes], named: list[Any]) -> bytes:
        """An operation over its inputs; `named` reads the strings in these."""
        args = {k: v for k, v in found.args.items() if k not in _SPEED}
        if ops.has(found.op, Fact.NAMES_FILES) or found.op == ops.LOAD:
            args.pop("buffer_size", None)
        functions = [function_digest(traced) for traced in found.traced]
        return digest(
            found.op,
            _plain(args),
            repr(found.dataset.element_spec),
            *inputs,
            *functions,
            *self._data(found),
            *self._files(found, named),
        )

    def _data(self, found: Found) -> Iterable[bytes]:
        """Arguments that are data and stay with the object."""
        dataset, op = found.dataset, found.op
        if ops.has(op, Fact.TENSORS):
            tensors = tf_private.tensors.get(dataset)
            if tensors is None:
                sparse = tf_private.sparse_tensor(dataset)
                tensors = [sparse.indices, sparse.values, sparse.dense_shape]
            for tensor in tensors:
                yield tensor_digest(tf.convert_to_tensor(tensor))
        elif op == ops.SCAN:
            for tensor in tf.nest.flatten(tf_private.initial_state(dataset), True):
                yield tensor_digest(tf.convert_to_tensor(tensor))
        elif op == ops.CSV:
            for data in tf_private.CSV_DATA:
                yield digest(data.name, _plain(data(dataset)))
        elif op == ops.PARSE_EXAMPLE_DATASET:
            yield digest(_plain(tf_private.features(dataset)))

    def _files(self, found: Found, named: list[Any]) -> Iterable[bytes]:
        for names in file_names(found, named):
            files = Files()
            files.add(names, most=None)
            yield files.digest()


def _is_untold(op: str) -> bool:
    return op == ops.OPAQUE or ops.has(op, Fact.UNTOLD)


def file_names(
    found: Found, named: list[Any], *, python: bool = False
) -> Iterator[set[bytes | str]]:
    """The names of the files that one operation reads: given to it, in its functions,
    or in its input, whose strings `named` reads."""
    if found.op == ops.LOAD:
        yield set(below(str(found.args["path"])))
    if ops.has(found.op, Fact.NAMES_FILES):
        names = found.args.get("filenames")
        if isinstance(names, str | bytes):
            names = (names,)
        yield set(named[0]() if names is None else names)
    for traced in found.traced:
        in_function = names_in(traced, python=python)
        if in_function is None:
            continue
        wanted: set[bytes | str] = set(in_function.constants)
        if in_function.from_elements:
            for strings in named:
                wanted.update(strings())
        yield wanted


def replace_args(found: Found, args: Mapping[str, Any]) -> Found:
    """With the arguments as they are now, after a fix."""
    return found if args is found.args else replace(found, args=args)


def _plain(value: Any) -> Any:
    """Something whose `repr` says exactly what it is."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return value
    if isinstance(value, np.ndarray | np.generic) or tf.is_tensor(value):
        return tensor_digest(tf.convert_to_tensor(value))
    if isinstance(value, tf.DType):
        return value.name
    if isinstance(value, tf.TensorShape):
        return None if value.rank is None else tuple(value.as_list())
    if isinstance(value, Mapping):
        return [(str(name), _plain(value[name])) for name in sorted(value)]
    if isinstance(value, tuple | list):
        kind = type(value).__name__ if hasattr(value, "_fields") else ""
        return (kind, *map(_plain, value))
    raise Unknown(f"an argument of type {type(value).__name__}")
