"""Every operation that feedline knows, one entry each: which class of TensorFlow
makes it, where its public arguments are kept, how it is made again.

To know a new operation, add an entry. An entry without a class is a public
method that TensorFlow makes of several objects; `composites.py` recognises it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from feedline.job.tfdata import arguments as arg
from feedline.job.tfdata import builders as make
from feedline.job.tfdata.arguments import Argument, Dataset
from feedline.job.tfdata.builders import Args, Build


@dataclass(frozen=True)
class Op:
    """A public operation.

    `functions` are the attributes of its traced functions, in the order of the
    public parameters. `keeps_state` is True where the iterators of one object
    share something: a cache, the seed of the next epoch. Without `build` it is
    the input's method of the same name.
    """

    name: str
    classes: tuple[str, ...] = ()
    args: Mapping[str, Argument] | Callable[[Dataset], Args] = field(
        default_factory=dict
    )
    functions: tuple[str, ...] = ()
    inputs: Callable[[Dataset], Iterable[Dataset]] | None = None
    build: Build | None = None
    keeps_state: bool = False
    rereadable: bool = True

    @property
    def maker(self) -> Build:
        return self.build or make.method(self.name)


_BATCH: dict[str, Argument] = {
    "batch_size": "_batch_size",
    "drop_remainder": "_drop_remainder",
}
_PARALLEL: dict[str, Argument] = {
    "num_parallel_calls": "_num_parallel_calls",
    "deterministic": "_deterministic",
}
_FILES: dict[str, Argument] = {
    "filenames": arg.filenames,
    "compression_type": "_compression_type",
    "buffer_size": "_buffer_size",
    "num_parallel_reads": arg.parallel_reads,
}
_SHUFFLE: dict[str, Argument] = {
    "seed": arg.seed,
    "reshuffle_each_iteration": "_reshuffle_each_iteration",
}
_MAP_FUNC = ("_map_func",)

_SOURCES = (
    Op("from_tensors", ("_TensorDataset",), build=make.static("from_tensors")),
    Op(
        "from_tensor_slices",
        ("_TensorSliceDataset", "_SparseTensorSliceDataset"),
        build=make.static("from_tensor_slices"),
    ),
    Op("from_list", ("_ListDataset",), build=make.impossible),
    Op("from_generator", build=make.static("from_generator")),
    Op(
        "range",
        ("_RangeDataset",),
        {
            "start": "_start",
            "stop": "_stop",
            "step": "_step",
            "output_type": "_output_type",
        },
        build=make.range_,
    ),
    Op("counter", build=make.counter),
    Op(
        "random",
        ("_RandomDataset",),
        {"seed": arg.seed, "rerandomize_each_iteration": "_rerandomize"},
        build=make.static("random"),
        keeps_state=True,
    ),
    Op("list_files", build=make.list_files, keeps_state=True),
    Op(
        "tfrecord",
        ("TFRecordDatasetV2",),
        _FILES,
        inputs=arg.file_datasets,
        build=make.reader("TFRecordDataset"),
    ),
    Op(
        "text_line",
        ("TextLineDatasetV2",),
        _FILES,
        inputs=arg.file_datasets,
        build=make.reader("TextLineDataset"),
    ),
    Op(
        "fixed_length_record",
        ("FixedLengthRecordDatasetV2",),
        {
            **_FILES,
            "record_bytes": "_record_bytes",
            "header_bytes": "_header_bytes",
            "footer_bytes": "_footer_bytes",
        },
        inputs=arg.file_datasets,
        build=make.reader("FixedLengthRecordDataset"),
    ),
    Op(
        "csv",
        ("CsvDatasetV2",),
        {
            "filenames": "_filenames",
            "compression_type": "_compression_type",
            "buffer_size": "_buffer_size",
            "header": "_header",
            "field_delim": "_field_delim",
            "use_quote_delim": "_use_quote_delim",
            "na_value": "_na_value",
        },
        build=make.csv,
    ),
    Op("make_csv_dataset", build=make.make_csv_dataset, keeps_state=True),
    Op(
        "sql",
        ("SqlDatasetV2",),
        {
            "driver_name": "_driver_name",
            "data_source_name": "_data_source_name",
            "query": "_query",
        },
        build=make.impossible,
    ),
    Op(
        "load",
        ("_LoadDataset",),
        {"path": "_path", "compression": "_compression"},
        ("_reader_func",),
        build=make.load,
    ),
    Op(
        "distribute",
        ("_DataServiceDatasetV2",),
        {
            "service": "_address",
            "protocol": "_protocol",
            "job_name": "_job_name",
            "max_outstanding_requests": "_max_outstanding_requests",
        },
        build=make.impossible,
        rereadable=False,
    ),
)

_BRANCHES = (
    Op("zip", ("_ZipDataset",), build=make.zip_),
    Op("concatenate", ("_ConcatenateDataset",), inputs=arg.concatenated),
    Op(
        "sample_from_datasets",
        build=make.sample_from_datasets,
        keeps_state=True,
    ),
    Op("choose_from_datasets", build=make.choose_from_datasets),
    Op(
        "directed_interleave",
        ("_DirectedInterleaveDataset",),
        {"stop_on_empty_dataset": "_stop_on_empty_dataset"},
        build=make.directed_interleave,
    ),
    Op("rejection_resample", keeps_state=True),
)

_TRANSFORMATIONS = (
    Op(
        "map",
        ("_MapDataset", "_ParallelMapDataset"),
        {
            **_PARALLEL,
            "synchronous": arg.if_set("_force_synchronous"),
            "use_unbounded_threadpool": arg.if_set("_use_unbounded_threadpool"),
        },
        _MAP_FUNC,
        build=make.map_,
    ),
    Op("filter", ("_FilterDataset",), functions=("_predicate",)),
    Op("flat_map", ("_FlatMapDataset",), functions=_MAP_FUNC),
    Op(
        "interleave",
        ("_InterleaveDataset", "_ParallelInterleaveDataset"),
        {
            "cycle_length": "_cycle_length",
            "block_length": "_block_length",
            **_PARALLEL,
            "deterministic": arg.interleave_order,
        },
        _MAP_FUNC,
    ),
    Op(
        "parallel_interleave",
        ("ParallelInterleaveDataset",),
        {
            "cycle_length": "_cycle_length",
            "block_length": "_block_length",
            "sloppy": arg.sloppy,
            "buffer_output_elements": "_buffer_output_elements",
            "prefetch_input_elements": "_prefetch_input_elements",
        },
        _MAP_FUNC,
        build=make.parallel_interleave,
    ),
    Op(
        "map_and_batch",
        ("_MapAndBatchDataset",),
        {
            "batch_size": "_batch_size_t",
            "num_parallel_calls": "_num_parallel_calls_t",
            "drop_remainder": "_drop_remainder_t",
        },
        _MAP_FUNC,
        build=make.map_and_batch,
    ),
    Op("batch", ("_BatchDataset", "_ParallelBatchDataset"), {**_BATCH, **_PARALLEL}),
    Op(
        "padded_batch",
        ("_PaddedBatchDataset",),
        {
            **_BATCH,
            "padded_shapes": arg.padded_shapes,
            "padding_values": arg.padding_values,
        },
    ),
    Op("ragged_batch", build=make.ragged_batch),
    Op(
        "sparse_batch",
        ("_DenseToSparseBatchDataset",),
        {"batch_size": "_batch_size", "row_shape": "_row_shape"},
    ),
    Op("bucket_by_sequence_length"),
    Op("unbatch", ("_UnbatchDataset",), inputs=arg.before_normalizing),
    Op(
        "rebatch",
        ("_RebatchDataset",),
        {"batch_size": "_batch_sizes", "drop_remainder": "_drop_remainder"},
        inputs=arg.before_normalizing,
    ),
    Op(
        "window",
        ("_WindowDataset",),
        {
            "size": "_size",
            "shift": "_shift",
            "stride": "_stride",
            "drop_remainder": "_drop_remainder",
        },
    ),
    Op(
        "group_by_window",
        ("_GroupByWindowDataset",),
        {"window_size": arg.window_size},
        ("_key_func", "_reduce_func", "_window_size_func"),
        build=make.group_by_window,
    ),
    Op(
        "group_by_reducer",
        ("_GroupByReducerDataset",),
        functions=("_key_func", "_init_func", "_reduce_func", "_finalize_func"),
        build=make.group_by_reducer,
    ),
    Op(
        "shuffle",
        ("_ShuffleDataset",),
        {"buffer_size": "_buffer_size", **_SHUFFLE},
        keeps_state=True,
    ),
    Op(
        "shuffle_and_repeat",
        ("_ShuffleAndRepeatDataset",),
        {"buffer_size": "_buffer_size", "count": arg.count, "seed": arg.seed},
        build=make.shuffle_and_repeat,
        keeps_state=True,
    ),
    Op(
        "global_shuffle",
        ("_GlobalShuffleDataset",),
        _SHUFFLE,
        inputs=lambda dataset: dataset._input_dataset._inputs(),
        build=make.global_shuffle,
        keeps_state=True,
    ),
    Op("repeat", ("_RepeatDataset",), {"count": arg.count}),
    Op("take", ("_TakeDataset",), {"count": "_count"}),
    Op("skip", ("_SkipDataset",), {"count": "_count"}),
    Op("shard", ("_ShardDataset",), {"num_shards": "_num_shards", "index": "_index"}),
    Op(
        "cache",
        ("CacheDataset",),
        {"filename": "_filename"},
        keeps_state=True,
    ),
    Op(
        "snapshot",
        ("_SnapshotDataset",),
        {"path": "_path", "compression": "_compression"},
        ("_reader_func", "_shard_func"),
        build=make.snapshot,
        keeps_state=True,
    ),
    Op("prefetch", ("_PrefetchDataset",), {"buffer_size": "_buffer_size"}),
    Op("enumerate"),
    Op("scan", ("_ScanDataset",), functions=("_scan_func",), build=make.scan),
    Op("unique", ("_UniqueDataset",)),
    Op("take_while", ("_TakeWhileDataset",), functions=("_predicate",)),
    Op("with_options", ("_OptionsDataset",), arg.own_options, build=make.with_options),
    Op(
        "ignore_errors",
        ("_IgnoreErrorsDataset",),
        {"log_warning": arg.from_graph("log_warning")},
    ),
    Op(
        "assert_cardinality",
        ("_AssertCardinalityDataset",),
        {"expected_cardinality": "_expected_cardinality"},
        build=make.transformation("assert_cardinality"),
    ),
    Op(
        "copy_to_device",
        ("_CopyToDeviceDataset",),
        {"target_device": "_target_device", "source_device": "_source_device_string"},
        build=make.transformation("copy_to_device"),
    ),
    Op(
        "parse_example_dataset",
        ("_ParseExampleDataset",),
        _PARALLEL,
        build=make.parse_example_dataset,
    ),
    Op("restructured", ("_RestructuredDataset",), build=make.restructured),
    Op(
        "dense_to_ragged",
        ("_DenseToRaggedDataset",),
        {"row_splits_dtype": arg.row_splits_dtype},
        build=make.dense_to_ragged,
    ),
)

OPS = {op.name: op for op in (*_SOURCES, *_BRANCHES, *_TRANSFORMATIONS)}
CLASSES = {cls: op for op in OPS.values() for cls in op.classes}
