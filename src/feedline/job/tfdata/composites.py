"""Public methods that TensorFlow makes of several dataset objects, seen as one.

Each is recognised by a function that only that method passes on (`list_files`
by the mark on its list of files), so a pipeline that a user puts together of
the same parts is not taken for it. What is not recognised is read part by part.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from feedline.job.private import tensorflow as tf_private
from feedline.job.private.tensorflow import DATA_PACKAGE
from feedline.job.tfdata import graph, ops
from feedline.job.tfdata.arguments import (
    Dataset,
    count,
    is_file_list,
    plain,
    row_splits_dtype,
    seed,
    sloppy,
)
from feedline.job.tfdata.functions import closure
from feedline.job.tfdata.own_stage import OwnStage
from feedline.job.tfdata.recognised import Found, find, seeds_of, unadapted

# What a pattern meets when another TensorFlow has built the same method otherwise:
# then the parts are read one by one.
_CHANGED_WITHIN = (AttributeError, LookupError, TypeError, ValueError, StopIteration)
_log = logging.getLogger(__name__)


def recognise(dataset: Dataset) -> Found:
    """The public operation that ends in `dataset`."""
    dataset = unadapted(dataset)
    if isinstance(dataset, OwnStage):
        source = unadapted(dataset.reads_from())
        args = dataset.stage_arguments()
        return Found(dataset, dataset.stands_for(), (source,), args)
    for match in _PATTERNS.get(type(dataset).__name__, ()):
        try:
            found = match(dataset)
        except _CHANGED_WITHIN as error:
            _log.debug("%s looks different: %r", match.__name__, error)
            continue
        if found is not None:
            return found
    return find(dataset)


def _from_generator(dataset: Dataset) -> Found | None:
    if not _made_by(dataset, "_from_generator.<locals>.flat_map_fn"):
        return None
    inside = closure(
        closure(tf_private.func(tf_private.map_func(dataset)))["get_iterator_id_fn"]
    )
    generator = tf_private.generator(inside["generator_state"])
    users = ((tf_private.map_func(dataset), generator),)
    return Found(dataset, ops.FROM_GENERATOR, users=users, composite=True)


def _counter(dataset: Dataset) -> Found | None:
    func = tf_private.func(tf_private.scan_func(dataset))
    if not _is(func, "_counter.<locals>.<lambda>"):
        return None
    args = {
        "start": plain(tf_private.initial_state(dataset)),
        "step": plain(closure(func)["step"]),
        "dtype": dataset.element_spec.dtype.name,
    }
    return Found(dataset, ops.COUNTER, args=args, composite=True)


def _list_files(dataset: Dataset) -> Found | None:
    shuffled = type(dataset).__name__ == "_ShuffleDataset"
    files = unadapted(tf_private.input_dataset(dataset)) if shuffled else dataset
    if not is_file_list(files):
        return None
    names = plain(tf_private.tensors(files)[0])
    if shuffled and plain(tf_private.buffer_size(dataset)) != max(len(names), 1):
        return None
    args = {
        "file_pattern": names,
        "shuffle": shuffled,
        "seed": seed(dataset) if shuffled else None,
    }
    return Found(
        dataset, ops.LIST_FILES, args=args, seeds=seeds_of(dataset), composite=True
    )


def _make_csv(dataset: Dataset) -> Found | None:
    mapped = tf_private.input_dataset(dataset)
    if not _made_by(mapped, "make_csv_dataset_v2.<locals>.map_fn"):
        return None
    parts = {type(part).__name__: part for part in _chain(mapped)}
    by_rows, by_files = parts["_BatchDataset"], parts["_TensorSliceDataset"]
    legacy = "ParallelInterleaveDataset" in parts
    reading = parts[f"{'' if legacy else '_'}ParallelInterleaveDataset"]
    shuffles = [p for p in _chain(mapped) if type(p).__name__ == "_ShuffleDataset"]
    repeat = parts.get("_RepeatDataset")
    rows, columns = (
        closure(tf_private.func(tf_private.map_func(reading))),
        closure(tf_private.func(tf_private.map_func(mapped))),
    )
    args = {
        "file_pattern": plain(tf_private.tensors(by_files)[0]),
        "batch_size": plain(tf_private.batch_size(by_rows)),
        "column_names": tuple(columns["column_names"]),
        "label_name": columns["label_name"],
        "num_epochs": count(repeat) if repeat is not None else 1,
        "shuffle": bool(shuffles),
        "num_parallel_reads": plain(tf_private.cycle_length(reading)) if legacy else -1,
        "sloppy": bool(sloppy(reading)) if legacy else _sloppy_option(dataset),
        "prefetch_buffer_size": plain(tf_private.buffer_size(dataset)),
        **{name: plain(rows[name]) for name in _CSV_ROW_ARGUMENTS},
    }
    if shuffles:
        args["shuffle_buffer_size"] = plain(tf_private.buffer_size(shuffles[0]))
        args["shuffle_seed"] = seed(shuffles[0])
    return Found(dataset, ops.MAKE_CSV_DATASET, args=args, composite=True)


_CSV_ROW_ARGUMENTS = (
    "header",
    "field_delim",
    "use_quote_delim",
    "na_value",
    "compression_type",
    "ignore_errors",
)


def _sloppy_option(dataset: Dataset) -> bool:
    return dataset.options().deterministic is False


def _ragged_batch(dataset: Dataset) -> Found | None:
    ragged = tf_private.input_dataset(dataset)
    if type(ragged).__name__ != "_DenseToRaggedDataset":
        return None
    args = {
        "batch_size": plain(tf_private.batch_size(dataset)),
        "drop_remainder": plain(tf_private.drop_remainder(dataset)),
        "row_splits_dtype": row_splits_dtype(ragged),
    }
    return _over(dataset, ops.RAGGED_BATCH, [tf_private.input_dataset(ragged)], args)


def _bucket(dataset: Dataset) -> Found | None:
    key = closure(tf_private.func(tf_private.key_func(dataset)))["key_func"]
    if not _is(key, "bucket_by_sequence_length.<locals>.element_to_bucket_id"):
        return None
    inside, batching = (
        closure(key),
        closure(tf_private.func(tf_private.reduce_func(dataset))),
    )
    sizes = closure(batching["window_size_fn"])["batch_sizes"]
    args = {
        "bucket_boundaries": tuple(inside["bucket_boundaries"]),
        "bucket_batch_sizes": plain(sizes),
        "padded_shapes": batching["padded_shapes"],
        "padding_values": batching["padding_values"],
        "pad_to_bucket_boundary": batching["pad_to_bucket_boundary"],
        "no_padding": batching["no_padding"],
        "drop_remainder": batching["drop_remainder"],
    }
    users = ((tf_private.key_func(dataset), inside["element_length_func"]),)
    return _over(
        dataset,
        ops.BUCKET_BY_SEQUENCE_LENGTH,
        tf_private.inputs(dataset)(),
        args,
        users=users,
    )


def _enumerate(dataset: Dataset) -> Found | None:
    pair = tf_private.datasets(dataset)
    if not (isinstance(pair, tuple) and len(pair) == 2 and _is_rewritten(pair[0])):
        return None
    if pair[0].element_spec != tf.TensorSpec([], tf.int64):
        return None
    start = graph.enumerates_from(pair[0])
    if start is None or not hasattr(pair[1], "element_spec"):
        return None
    return _over(dataset, ops.ENUMERATE, [pair[1]], {"start": start})


def _snapshot(dataset: Dataset) -> Found | None:
    if not _made_by(dataset, "_snapshot.<locals>.<lambda>"):
        return None
    inner = find(tf_private.input_dataset(dataset))
    (numbered,) = inner.inputs
    users = tuple(pair for pair in inner.users if pair[0] is inner.traced[0])
    return _over(
        dataset,
        ops.SNAPSHOT,
        [tf_private.datasets(numbered)[1]],
        inner.args,
        users=users,
    )


def _sample(dataset: Dataset) -> Found | None:
    selector = tf_private.selector_input(dataset)
    constant = _made_by(selector, ".select_dataset_constant_logits")
    if not constant and not _made_by(selector, ".select_dataset_varying_logits"):
        return None
    inputs = list(tf_private.data_inputs(dataset))
    weights: Any = "dataset"
    batched = tf_private.input_dataset(selector)
    if constant:
        logits = closure(tf_private.func(tf_private.map_func(selector)))["logits"]
        weights = None if isinstance(logits, list) else _exp(logits)
    else:
        logits, batched = tf_private.datasets(batched)
        inputs.append(tf_private.input_dataset(logits))
    drawn = tf_private.input_dataset(batched)
    args = {
        "weights": weights,
        "seed": seed(drawn),
        "stop_on_empty_dataset": tf_private.stop_on_empty_dataset(dataset),
        "rerandomize_each_iteration": tf_private.rerandomize(drawn),
    }
    return _over(dataset, ops.SAMPLE_FROM_DATASETS, inputs, args, seeds=seeds_of(drawn))


def _exp(logits: Any) -> tuple[float, ...]:
    weights = np.exp(np.asarray(tf.get_static_value(logits), np.float64))
    return tuple(round(float(one), 6) for one in weights[0])


def _choose(dataset: Dataset) -> Found | None:
    if not _is_rewritten(tf_private.selector_input(dataset)):
        return None
    inputs = [*tf_private.data_inputs(dataset), tf_private.selector_input(dataset)]
    args = {"stop_on_empty_dataset": tf_private.stop_on_empty_dataset(dataset)}
    return _over(dataset, ops.CHOOSE_FROM_DATASETS, inputs, args)


def _resample(dataset: Dataset) -> Found | None:
    """`rejection_resample`, in the three shapes it takes: the accepted mixed with
    the original, the accepted alone, the original alone."""
    mixed = type(dataset).__name__ == "_DirectedInterleaveDataset"
    original = tf_private.data_inputs(dataset)[0] if mixed else dataset
    if _made_by(original, "rejection_resample.<locals>.add_class_value"):
        func, upstream = (
            tf_private.map_func(original),
            tf_private.input_dataset(original),
        )
        class_func = closure(tf_private.func(func))["class_func"]
    elif _made_by(
        tf_private.input_dataset.get(dataset), "_filter_ds.<locals>.<lambda>"
    ):
        func = next(
            tf_private.map_func(part)
            for part in _chain(dataset)
            if _made_by(part, "_filter_ds.<locals>._gather_and_copy")
        )
        upstream = tf_private.datasets(_chain_end(dataset))[1]
        class_func = closure(tf_private.func(func))["class_func"]
    else:
        return None
    return _over(
        dataset, ops.REJECTION_RESAMPLE, [upstream], {}, users=((func, class_func),)
    )


_PATTERNS: dict[str, tuple[Callable[[Dataset], Found | None], ...]] = {
    "_BatchDataset": (_ragged_batch,),
    "_DirectedInterleaveDataset": (_resample, _sample, _choose),
    "_FlatMapDataset": (_from_generator,),
    "_GroupByWindowDataset": (_bucket,),
    "_MapDataset": (_snapshot, _resample),
    "_PrefetchDataset": (_make_csv, _resample),
    "_ScanDataset": (_counter,),
    "_ShuffleDataset": (_list_files,),
    "_TensorSliceDataset": (_list_files,),
    "_ZipDataset": (_enumerate,),
}


def _over(
    dataset: Dataset,
    op: str,
    inputs: list[Dataset],
    args: Any,
    users: tuple[tuple[Any, Any], ...] = (),
    seeds: Any = (),
) -> Found:
    upstream = tuple(unadapted(one) for one in inputs)
    return Found(dataset, op, upstream, args, users=users, seeds=seeds, composite=True)


def _made_by(dataset: Dataset, qualname: str) -> bool:
    """Does TensorFlow's own function of that name map this dataset?"""
    return _is(tf_private.func.get(tf_private.map_func.get(dataset)), qualname)


def _is(func: Any, qualname: str) -> bool:
    return str(getattr(func, "__module__", "")).startswith(DATA_PACKAGE) and str(
        getattr(func, "__qualname__", "")
    ).endswith(qualname)


def _is_rewritten(dataset: Dataset) -> bool:
    """TensorFlow's mark for data service makes an object without a past."""
    return type(dataset).__name__ == "_VariantDataset"


def _chain(dataset: Dataset) -> Iterator[Dataset]:
    """`dataset` and what feeds it, up to the source or a branch."""
    while True:
        yield dataset
        upstream = tf_private.inputs(dataset)()
        if len(upstream) != 1:
            return
        dataset = unadapted(upstream[0])


def _chain_end(dataset: Dataset) -> Dataset:
    *_, last = _chain(dataset)
    return last
