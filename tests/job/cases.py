"""One pipeline for every public operation of `tf.data`: how it is made, how its
stages must read, and the arguments that its last stage must show."""

from dataclasses import dataclass, field

import numpy as np
import tensorflow as tf

D = tf.data.Dataset
X = tf.data.experimental


@dataclass(frozen=True)
class Case:
    op: str
    make: object
    before: tuple | None = None
    args: dict = field(default_factory=dict)
    also: str = ""

    @property
    def id(self):
        return f"{self.op} {self.also}".strip()

    @property
    def ops(self):
        """Source first. A range is the input unless told."""
        if self.before is not None:
            return [*self.before, self.op]
        return [self.op] if self in SOURCES else ["range", self.op]


class Unheard(tf.data.Dataset):
    """A class of somebody else's."""

    def __init__(self, upstream):
        self._upstream = upstream
        super().__init__(upstream._variant_tensor)

    def _inputs(self):
        return [self._upstream]

    @property
    def element_spec(self):
        return self._upstream.element_spec


EXAMPLE = tf.train.Example(
    features=tf.train.Features(
        feature={"a": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))}
    )
).SerializeToString()
FEATURES = {
    "a": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    "b": tf.io.FixedLenFeature([], tf.string, default_value="none"),
}


def generate():
    yield from ([1], [2, 3], [4])


def generate_ragged():
    yield tf.ragged.constant([[1], [2, 3]])
    yield tf.ragged.constant([[], [4]], tf.int32)


def is_even(x):
    return x % 2 == 0


def twice(x):
    return x * 2


def twin(x):
    return D.from_tensors(x).repeat(2)


def is_odd(x):
    return x % 2


def checked(x):
    return tf.debugging.check_numerics(1.0 / tf.cast(x - 3, tf.float32), "bad")


def numbers(n=9):
    return D.range(n)


def vectors():
    return numbers().map(lambda x: tf.range(x % 4 + 1))


def summed(state, x):
    return state + x, state + x


def grown(state, x):
    return tf.concat([state, [0]], 0), state


def reduced():
    reducer = X.Reducer(
        lambda k: np.int64(0), lambda state, x: state + x, lambda state: state
    )
    return X.group_by_reducer(is_odd, reducer)


def weights():
    return D.from_tensors([0.2, 0.8]).repeat()


def options():
    chosen = tf.data.Options()
    chosen.deterministic = False
    chosen.autotune.enabled = True
    chosen.autotune.cpu_budget = 2
    chosen.threading.private_threadpool_size = 3
    chosen.experimental_optimization.map_fusion = True
    chosen.experimental_distribute.auto_shard_policy = X.AutoShardPolicy.OFF
    return chosen


OPTIONS = {
    "deterministic": False,
    "autotune.enabled": True,
    "autotune.cpu_budget": 2,
    "threading.private_threadpool_size": 3,
    "experimental_optimization.map_fusion": True,
    "experimental_distribute.auto_shard_policy": "OFF",
}


def loaded(files):
    numbers().save(str(files / "saved"))
    return D.load(str(files / "saved"))


def csv(files, **more):
    return X.make_csv_dataset(
        str(files / "*.csv"), 2, label_name="b", num_epochs=1, shuffle_seed=1, **more
    )


def names(files, kind):
    return [str(files / f"{n}.{kind}") for n in (0, 1)]


def from_slices(x):
    return D.from_tensor_slices(x)


def generated(function, spec):
    return D.from_generator(function, output_signature=spec)


def text(files, **more):
    return tf.data.TextLineDataset(names(files, "txt"), **more)


def records(files, **more):
    return tf.data.TFRecordDataset(names(files, "tfrecord"), **more)


SOURCES = [
    Case("from_tensor_slices", lambda f: from_slices({"a": [1, 2], "b": [3, 4]})),
    Case("from_tensor_slices", lambda f: from_slices(["a", "b"]), also="text"),
    Case(
        "from_tensor_slices",
        lambda f: from_slices(tf.ragged.constant([[1], [2, 3]])),
        also="ragged",
    ),
    Case("from_tensor_slices", lambda f: from_slices(tf.sparse.eye(3)), also="sparse"),
    Case("from_tensors", lambda f: D.from_tensors((1, "x"))),
    Case("from_list", lambda f: X.from_list([(1, "a"), (2, "b")])),
    Case(
        "from_generator", lambda f: generated(generate, tf.TensorSpec([None], tf.int32))
    ),
    Case(
        "from_generator",
        lambda f: generated(generate_ragged, tf.RaggedTensorSpec([2, None], tf.int32)),
        also="ragged",
    ),
    Case(
        "range",
        lambda f: D.range(1, 9, 2, output_type=tf.int32, name="odd"),
        args={"start": 1, "stop": 9, "step": 2, "output_type": "int32", "name": "odd"},
    ),
    Case("counter", lambda f: D.counter(3, 2), args={"start": 3, "step": 2}),
    Case("random", lambda f: D.random(4, True), args={"seed": 4}),
    Case(
        "list_files",
        lambda f: D.list_files(str(f / "*.txt"), seed=3),
        args={"shuffle": True, "seed": 3},
    ),
    Case(
        "list_files",
        lambda f: D.list_files(str(f / "*.txt"), shuffle=False),
        args={"shuffle": False, "seed": None},
        also="in order",
    ),
    Case("text_line", text, args={"num_parallel_reads": None}),
    Case(
        "text_line",
        lambda f: text(f, num_parallel_reads=2),
        args={"num_parallel_reads": 2},
        also="parallel",
    ),
    Case(
        "text_line",
        lambda f: tf.data.TextLineDataset(D.list_files(str(f / "*.txt"), seed=1)),
        before=("list_files",),
        also="of found files",
    ),
    Case(
        "text_line",
        lambda f: tf.data.TextLineDataset(from_slices(names(f, "txt"))),
        before=("from_tensor_slices",),
        also="of a dataset",
    ),
    Case("tfrecord", lambda f: records(f, buffer_size=99), args={"buffer_size": 99}),
    Case(
        "tfrecord",
        lambda f: records(f, num_parallel_reads=2),
        args={"num_parallel_reads": 2},
        also="parallel",
    ),
    Case(
        "tfrecord",
        lambda f: records(f, num_parallel_reads=-1),
        args={"num_parallel_reads": -1},
        also="autotuned",
    ),
    Case(
        "fixed_length_record",
        lambda f: tf.data.FixedLengthRecordDataset(names(f, "txt"), 2),
        args={"record_bytes": 2, "header_bytes": None},
    ),
    Case(
        "csv",
        lambda f: X.CsvDataset(names(f, "csv"), [tf.int32, tf.string], header=True),
        args={"header": True, "field_delim": ","},
    ),
    Case(
        "make_csv_dataset",
        csv,
        args={
            "batch_size": 2,
            "column_names": ("a", "b"),
            "label_name": "b",
            "num_epochs": 1,
            "num_parallel_reads": 1,
            "shuffle": True,
        },
    ),
    Case(
        "make_csv_dataset",
        lambda f: csv(f, shuffle=False, num_parallel_reads=-1),
        args={"shuffle": False, "num_parallel_reads": -1},
        also="autotuned",
    ),
    Case("load", loaded),
]

BRANCHES = [
    Case(
        "zip",
        lambda f: D.zip({"a": numbers(), "b": (numbers(4), vectors())}),
        before=("range", "range", "range", "map"),
    ),
    Case(
        "concatenate",
        lambda f: numbers().concatenate(numbers(4)),
        before=("range", "range"),
    ),
    Case(
        "concatenate",
        lambda f: numbers().apply(lambda d: d.map(twice).concatenate(numbers(4))),
        before=("range", "map", "range"),
        also="applied",
    ),
    Case(
        "sample_from_datasets",
        lambda f: D.sample_from_datasets([numbers(), numbers(4)], [0.25, 0.75], 8),
        before=("range", "range"),
        args={"weights": (0.25, 0.75), "seed": 8, "stop_on_empty_dataset": False},
    ),
    Case(
        "sample_from_datasets",
        lambda f: D.sample_from_datasets([numbers(), numbers(4)], seed=8),
        before=("range", "range"),
        args={"weights": None},
        also="evenly",
    ),
    Case(
        "sample_from_datasets",
        lambda f: D.sample_from_datasets([numbers(), numbers(4)], weights(), 8),
        before=("range", "range", "from_tensors", "repeat"),
        args={"weights": "dataset"},
        also="by a dataset",
    ),
    Case(
        "choose_from_datasets",
        lambda f: D.choose_from_datasets([numbers(), numbers(4)], D.range(2).repeat()),
        before=("range", "range", "opaque"),
        args={"stop_on_empty_dataset": True},
    ),
    Case(
        "rejection_resample",
        lambda f: numbers().rejection_resample(is_odd, [0.5, 0.5], [0.4, 0.6], 3),
    ),
    Case(
        "rejection_resample",
        lambda f: numbers().rejection_resample(is_odd, [0.5, 0.5], seed=3),
        also="of unknown weights",
    ),
    Case(
        "rejection_resample",
        lambda f: numbers().rejection_resample(is_odd, [0.0, 1.0], [0.4, 0.6], 3),
        also="of one class",
    ),
    Case(
        "rejection_resample",
        lambda f: numbers().rejection_resample(is_odd, [0.5, 0.5], [0.5, 0.5], 3),
        also="as it is",
    ),
]

FUNCTIONS = [
    Case(
        "map",
        lambda f: numbers().map(twice),
        args={"num_parallel_calls": None, "deterministic": None},
    ),
    Case(
        "map",
        lambda f: numbers().map(twice, -1, deterministic=True, name="double"),
        args={"num_parallel_calls": -1, "deterministic": True, "name": "double"},
        also="parallel",
    ),
    Case(
        "map",
        lambda f: tf.compat.v1.data.Dataset.range(9).map(twice),
        also="of version 1",
    ),
    Case("filter", lambda f: numbers().filter(is_even)),
    Case("flat_map", lambda f: numbers().flat_map(twin)),
    Case(
        "interleave",
        lambda f: numbers().interleave(twin, 3, 2),
        args={"cycle_length": 3, "block_length": 2, "num_parallel_calls": None},
    ),
    Case(
        "interleave",
        lambda f: numbers().interleave(twin, 3, 2, 2, deterministic=True),
        args={"num_parallel_calls": 2, "deterministic": True},
        also="parallel",
    ),
    Case(
        "interleave",
        lambda f: numbers().interleave(twin, num_parallel_calls=-1),
        args={"num_parallel_calls": -1, "deterministic": None, "cycle_length": -1},
        also="autotuned",
    ),
    Case(
        "parallel_interleave",
        lambda f: numbers().apply(X.parallel_interleave(twin, 2, sloppy=False)),
        args={"cycle_length": 2, "sloppy": False},
    ),
    Case(
        "map_and_batch",
        lambda f: numbers().apply(X.map_and_batch(twice, 2, num_parallel_calls=2)),
        args={"batch_size": 2, "num_parallel_calls": 2},
    ),
    Case("scan", lambda f: numbers().scan(np.int64(1), summed)),
    Case("scan", lambda f: numbers().scan([0], grown), also="of a growing state"),
    Case("take_while", lambda f: numbers().take_while(lambda x: x < 5)),
    Case(
        "group_by_window",
        lambda f: numbers().group_by_window(is_odd, lambda k, d: d.batch(3), 3),
        args={"window_size": 3},
    ),
    Case(
        "group_by_window",
        lambda f: numbers().group_by_window(
            is_odd, lambda k, d: d.batch(3), window_size_func=lambda k: k + 2
        ),
        also="of varying size",
    ),
    Case(
        "bucket_by_sequence_length",
        lambda f: vectors().bucket_by_sequence_length(tf.size, [2, 4], [2, 3, 1]),
        before=("range", "map"),
        args={"bucket_boundaries": (2, 4), "bucket_batch_sizes": (2, 3, 1)},
    ),
    Case("group_by_reducer", lambda f: numbers().apply(reduced())),
    Case(
        "parse_example_dataset",
        lambda f: from_slices([[EXAMPLE] * 2] * 3).apply(
            X.parse_example_dataset(FEATURES, num_parallel_calls=2)
        ),
        before=("from_tensor_slices",),
        args={"num_parallel_calls": 2},
    ),
]

BATCHES = [
    Case(
        "batch",
        lambda f: numbers().batch(4, drop_remainder=True),
        args={"batch_size": 4, "drop_remainder": True, "num_parallel_calls": None},
    ),
    Case(
        "batch",
        lambda f: numbers().batch(4, num_parallel_calls=2, deterministic=True),
        args={"num_parallel_calls": 2, "deterministic": True},
        also="parallel",
    ),
    Case(
        "padded_batch",
        lambda f: vectors().padded_batch(3),
        before=("range", "map"),
        args={"batch_size": 3, "padded_shapes": (None,), "drop_remainder": False},
    ),
    Case(
        "padded_batch",
        lambda f: D.zip((vectors(), numbers())).padded_batch(
            2, ([6], []), (np.int64(-1), None)
        ),
        before=("range", "map", "range", "zip"),
        args={"padded_shapes": ((6,), ()), "padding_values": (-1, 0)},
        also="of pairs",
    ),
    Case(
        "ragged_batch",
        lambda f: vectors().ragged_batch(3, row_splits_dtype=tf.int32),
        before=("range", "map"),
        args={"batch_size": 3, "row_splits_dtype": "int32"},
    ),
    Case(
        "sparse_batch",
        lambda f: vectors().sparse_batch(3, [6]),
        before=("range", "map"),
        args={"batch_size": 3, "row_shape": (6,)},
    ),
    Case("unbatch", lambda f: numbers().batch(4).unbatch(), before=("range", "batch")),
    Case(
        "unbatch",
        lambda f: vectors().ragged_batch(4).unbatch(),
        before=("range", "map", "ragged_batch"),
        also="ragged",
    ),
    Case(
        "rebatch",
        lambda f: numbers().batch(4).rebatch([1, 2]),
        before=("range", "batch"),
        args={"batch_size": (1, 2), "drop_remainder": False},
    ),
    Case(
        "window",
        lambda f: numbers().window(3, 2, drop_remainder=True),
        args={"size": 3, "shift": 2, "stride": 1, "drop_remainder": True},
    ),
]

ORDER = [
    Case(
        "shuffle",
        lambda f: numbers().shuffle(5, seed=2),
        args={"buffer_size": 5, "seed": 2, "reshuffle_each_iteration": True},
    ),
    Case(
        "shuffle_and_repeat",
        lambda f: numbers().apply(X.shuffle_and_repeat(5, 2, 2)),
        args={"buffer_size": 5, "count": 2, "seed": 2},
    ),
    Case("repeat", lambda f: numbers().repeat(2), args={"count": 2}),
    Case("repeat", lambda f: numbers().repeat(), args={"count": None}, also="for ever"),
    Case("take", lambda f: numbers().take(3), args={"count": 3}),
    Case("skip", lambda f: numbers().skip(3), args={"count": 3}),
    Case("shard", lambda f: numbers().shard(3, 1), args={"num_shards": 3, "index": 1}),
    Case("enumerate", lambda f: numbers().enumerate(5), args={"start": 5}),
    Case("unique", lambda f: numbers().repeat(2).unique(), before=("range", "repeat")),
]

KEEPING = [
    Case("cache", lambda f: numbers().cache(), args={"filename": ""}),
    Case(
        "cache",
        lambda f: numbers().cache(str(f / "cached")),
        also="in a file",
    ),
    Case(
        "snapshot",
        lambda f: numbers().snapshot(str(f / "snap"), compression=None),
        args={"compression": None},
    ),
    Case(
        "snapshot",
        lambda f: numbers().snapshot(
            str(f / "snap2"), None, shard_func=lambda x: x % 1
        ),
        also="in shards",
    ),
    Case("prefetch", lambda f: numbers().prefetch(-1), args={"buffer_size": -1}),
    Case("with_options", lambda f: numbers().with_options(options()), args=OPTIONS),
    Case(
        "ignore_errors",
        lambda f: numbers().map(checked).ignore_errors(log_warning=True),
        before=("range", "map"),
        args={"log_warning": True},
    ),
    Case(
        "assert_cardinality",
        lambda f: numbers().filter(is_even).apply(X.assert_cardinality(5)),
        before=("range", "filter"),
        args={"expected_cardinality": 5},
    ),
    Case(
        "copy_to_device",
        lambda f: numbers().apply(X.copy_to_device("/cpu:0")),
        args={"target_device": "/cpu:0"},
    ),
    Case(
        "prefetch",
        lambda f: numbers().apply(X.prefetch_to_device("/cpu:0", 2)),
        before=("range", "copy_to_device"),
        args={"buffer_size": 2},
        also="to a device",
    ),
]

CASES = [*SOURCES, *BRANCHES, *FUNCTIONS, *BATCHES, *ORDER, *KEEPING]
