"""How a dataset object is made, where it is not simply a method of its input.

The functions go to TensorFlow's constructors as they are; whether they are
traced again is `reuse.py`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from feedline.job.private import tensorflow as tf_private
from feedline.job.private.tensorflow import (
    batching,
    dataset_ops,
    directed_interleave_op,
    from_tensor_slices_op,
    group_by_window_op,
    grouping,
    map_op,
    parsing_ops,
    ragged_batch_op,
    readers,
    shuffle_ops,
    snapshot_op,
)
from feedline.job.tfdata.arguments import UNSET, Dataset, window_size
from feedline.job.tfdata.functions import closure
from feedline.job.tfdata.ops import Op
from feedline.job.tfdata.options import from_dict

Args = dict[str, Any]


@dataclass
class Order:
    """What to make: over which inputs, with which public arguments and functions;
    `old` is the object that it replaces, None for a stage that is new."""

    inputs: Sequence[Dataset]
    args: Args
    functions: Sequence[Any] = ()
    old: Any = None

    @property
    def input(self) -> Dataset:
        if not self.inputs:
            raise ValueError("it has no input")
        return self.inputs[0]

    @property
    def function(self) -> Any:
        if not self.functions:
            raise ValueError('it has no function; give one as args["func"]')
        return self.functions[0]


Build = Callable[[Order], Dataset]


def maker(op: Op) -> Build:
    """How an object of this op is made: the function of this file that the op table
    names, a method of the input where it names none."""
    if op.build is None:
        return method(op.name)
    function = globals()[op.build.name]
    chosen: Build = function(op.build.given) if op.build.given else function
    return chosen


def method(name: str) -> Build:
    """A method of the first input; other inputs come first among its arguments."""

    def build(new: Order) -> Dataset:
        call = getattr(new.input, name)
        return call(*new.inputs[1:], *new.functions, **new.args)

    return build


def static(name: str) -> Build:
    """A source: a static method of `Dataset`."""
    return lambda new: getattr(tf.data.Dataset, name)(*new.functions, **new.args)


def reader(name: str) -> Build:
    def build(new: Order) -> Dataset:
        files = new.inputs[0] if new.inputs else new.args.pop("filenames")
        return getattr(tf.data, name)(files, **new.args)

    return build


def transformation(name: str) -> Build:
    """One of `tf.data.experimental`, for `Dataset.apply`."""
    return lambda new: new.input.apply(getattr(tf.data.experimental, name)(**new.args))


def impossible(new: Order) -> Dataset:
    raise ValueError(f"a source with {new.args} can only be used as it was read")


def range_(new: Order) -> Dataset:
    args = new.args
    bounds = args.pop("start", 0), args.pop("stop"), args.pop("step", 1)
    args["output_type"] = tf.as_dtype(args.get("output_type", tf.int64))
    return tf.data.Dataset.range(*bounds, **args)


def counter(new: Order) -> Dataset:
    new.args["dtype"] = tf.as_dtype(new.args.get("dtype", tf.int64))
    return tf.data.Dataset.counter(**new.args)


def list_files(new: Order) -> Dataset:
    if new.old is None:
        return tf.data.Dataset.list_files(**new.args)
    files = list(new.args["file_pattern"])  # what was found: patterns no more
    dataset = from_tensor_slices_op._TensorSliceDataset(files, is_files=True)
    if not new.args["shuffle"]:
        return dataset
    return dataset.shuffle(max(len(files), 1), seed=new.args["seed"])


def csv(new: Order) -> Dataset:
    for name in ("record_defaults", "select_cols", "exclude_cols"):
        if name not in new.args and new.old is not None:
            new.args[name] = getattr(new.old, f"_{name}")
    return tf.data.experimental.CsvDataset(**new.args)


def make_csv_dataset(new: Order) -> Dataset:
    """The columns are not guessed again: the old object knows them."""
    args = new.args
    if new.old is not None:
        reading = new.old
        while not tf_private.cycle_length.on(reading):
            reading = tf_private.input_dataset(reading)
        rows = closure(tf_private.func(tf_private.map_func(reading)))
        if rows["select_columns"] is not None:
            raise ValueError("with select_columns it can only be used as it was read")
        args.setdefault("column_defaults", rows["column_defaults"])
        args["file_pattern"] = list(args["file_pattern"])
        args["column_names"] = list(args["column_names"])
    return tf.data.experimental.make_csv_dataset(**args)


def load(new: Order) -> Dataset:
    if new.old is not None:
        new.args |= {"element_spec": new.old.element_spec, "reader_func": new.function}
    return tf.data.Dataset.load(**new.args)


def map_(new: Order) -> Dataset:
    hidden = {
        name: False
        for name in ("use_inter_op_parallelism", "preserve_cardinality")
        if getattr(new.old, f"_{name}", True) is False
    }
    if not hidden:
        return new.input.map(*new.functions, **new.args)
    # One of TensorFlow's own maps, or of `tf.compat.v1`.
    if new.args.get("num_parallel_calls") is not None:
        return map_op._ParallelMapDataset(new.input, new.function, **new.args, **hidden)
    name = new.args.get("name")
    return map_op._MapDataset(new.input, new.function, name=name, **hidden)


def scan(new: Order) -> Dataset:
    if new.functions:
        new.args["scan_func"] = new.function
    if "initial_state" not in new.args and new.old is not None:
        new.args["initial_state"] = tf_private.initial_state(new.old)
    return new.input.scan(**new.args)


def group_by_window(new: Order) -> Dataset:
    given = new.args.get("window_size", UNSET)
    if new.old is not None and given == window_size(new.old):
        new.args.pop("window_size", None)
        return group_by_window_op._GroupByWindowDataset(
            new.input, *new.functions, **new.args
        )
    new.args |= zip(("key_func", "reduce_func"), new.functions, strict=False)
    return new.input.group_by_window(**new.args)


def group_by_reducer(new: Order) -> Dataset:
    reducer = tf.data.experimental.Reducer(*new.functions[1:])
    return grouping._GroupByReducerDataset(new.input, new.function, reducer)


def snapshot(new: Order) -> Dataset:
    if isinstance(new.old, snapshot_op._SnapshotDataset):
        new.args |= zip(("reader_func", "shard_func"), new.functions, strict=True)
        return snapshot_op._SnapshotDataset(new.input, **new.args)
    new.args |= zip(("reader_func",), new.functions, strict=False)
    return new.input.snapshot(**new.args)


def zip_(new: Order) -> Dataset:
    """In the structure of the old one: a tuple, a dict, nested."""
    datasets: Any = tuple(new.inputs)
    shape = tf_private.datasets(new.old) if new.old is not None else ()
    if len(tf.nest.flatten(shape)) == len(datasets):
        datasets = tf.nest.pack_sequence_as(shape, list(datasets))
    return tf.data.Dataset.zip(datasets, **new.args)


def sample_from_datasets(new: Order) -> Dataset:
    datasets = list(new.inputs)
    weights = new.args.pop("weights", None)
    if weights == "dataset":
        weights = datasets.pop()
    elif weights is not None:
        weights = list(weights)
    return tf.data.Dataset.sample_from_datasets(datasets, weights, **new.args)


def choose_from_datasets(new: Order) -> Dataset:
    *datasets, choice = new.inputs
    return tf.data.Dataset.choose_from_datasets(datasets, choice, **new.args)


def directed_interleave(new: Order) -> Dataset:
    return directed_interleave_op._DirectedInterleaveDataset(
        new.input, new.inputs[1:], **new.args
    )


def parallel_interleave(new: Order) -> Dataset:
    return readers.ParallelInterleaveDataset(new.input, new.function, **new.args)


def map_and_batch(new: Order) -> Dataset:
    return batching._MapAndBatchDataset(new.input, new.function, **new.args)


def shuffle_and_repeat(new: Order) -> Dataset:
    return shuffle_ops._ShuffleAndRepeatDataset(new.input, **new.args)


def global_shuffle(new: Order) -> Dataset:
    from feedline.job.private.tensorflow import global_shuffle_op

    return global_shuffle_op._global_shuffle(new.input, **new.args)


def parse_example_dataset(new: Order) -> Dataset:
    """TensorFlow puts a dimension in front of some features; it will do so again."""
    features = new.args.pop("features", None) or {
        key: feature._replace(shape=feature.shape[1:])
        if isinstance(feature, tf.io.FixedLenSequenceFeature)
        else feature
        for key, feature in tf_private.features(new.old).items()
    }
    return parsing_ops._ParseExampleDataset(new.input, features, **new.args)


def ragged_batch(new: Order) -> Dataset:
    splits = new.args.pop("row_splits_dtype", tf.int64)
    return new.input.ragged_batch(row_splits_dtype=tf.as_dtype(splits), **new.args)


def dense_to_ragged(new: Order) -> Dataset:
    splits = tf.as_dtype(new.args.pop("row_splits_dtype"))
    return ragged_batch_op._DenseToRaggedDataset(new.input, splits, **new.args)


def restructured(new: Order) -> Dataset:
    if new.args or new.old is None:
        raise ValueError("it can only be made again as it was read")
    return dataset_ops._RestructuredDataset(new.input, tf_private.element_spec(new.old))


def with_options(new: Order) -> Dataset:
    name = new.args.pop("name", None)
    return new.input.with_options(from_dict(new.args), name=name)
