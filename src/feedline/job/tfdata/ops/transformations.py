"""What is made of other datasets: the entries of the op table (see `table.py`)."""

from __future__ import annotations

from feedline.job.tfdata.ops import names as n
from feedline.job.tfdata.ops.op import Argument, By, Fact, Op

_BATCH: dict[str, Argument] = {
    "batch_size": "_batch_size",
    "drop_remainder": "_drop_remainder",
}
_PARALLEL: dict[str, Argument] = {
    "num_parallel_calls": "_num_parallel_calls",
    "deterministic": "_deterministic",
}
_SHUFFLE: dict[str, Argument] = {
    "seed": By("seed"),
    "reshuffle_each_iteration": "_reshuffle_each_iteration",
}
_MAP_FUNC = ("_map_func",)

BRANCHES = (
    Op(
        n.ZIP,
        ("_ZipDataset",),
        build=By("zip_"),
        nodes=("Zip",),
        facts=Fact.SAME | Fact.PLUMBING | Fact.ENDS_EARLY | Fact.ENDS_WITH_SHORTEST,
    ),
    Op(
        n.CONCATENATE,
        ("_ConcatenateDataset",),
        inputs=By("concatenated"),
        nodes=("Concatenate",),
        facts=Fact.SAME | Fact.PLUMBING | Fact.READS_TO_END | Fact.ONE_BY_ONE,
    ),
    Op(
        n.SAMPLE_FROM_DATASETS,
        build=By("sample_from_datasets"),
        facts=Fact.DRAWS | Fact.DRAWS_ORDER | Fact.STATE | Fact.ONE_BY_ONE,
    ),
    Op(n.CHOOSE_FROM_DATASETS, build=By("choose_from_datasets"), facts=Fact.UNTOLD),
    Op(
        n.DIRECTED_INTERLEAVE,
        ("_DirectedInterleaveDataset",),
        {"stop_on_empty_dataset": "_stop_on_empty_dataset"},
        build=By("directed_interleave"),
        facts=Fact.UNTOLD,
    ),
    Op(n.REJECTION_RESAMPLE, facts=Fact.DRAWS | Fact.STATE),
)

TRANSFORMATIONS = (
    Op(
        n.MAP,
        ("_MapDataset", "_ParallelMapDataset"),
        {
            **_PARALLEL,
            "synchronous": By("if_set", "_force_synchronous"),
            "use_unbounded_threadpool": By("if_set", "_use_unbounded_threadpool"),
        },
        _MAP_FUNC,
        build=By("map_"),
        nodes=("Map", "ParallelMap"),
        facts=Fact.SAME | Fact.READS_TO_END | Fact.ONE_BY_ONE | Fact.WORKERS,
    ),
    Op(
        n.FILTER,
        ("_FilterDataset",),
        functions=("_predicate",),
        nodes=("Filter", "ParallelFilter"),
        facts=Fact.SAME | Fact.READS_TO_END | Fact.ONE_BY_ONE,
    ),
    Op(
        n.FLAT_MAP,
        ("_FlatMapDataset",),
        functions=_MAP_FUNC,
        nodes=("FlatMap",),
        facts=Fact.SAME
        | Fact.RECORDS_INSIDE
        | Fact.INNER
        | Fact.READS_TO_END
        | Fact.ONE_BY_ONE,
    ),
    Op(
        n.INTERLEAVE,
        ("_InterleaveDataset", "_ParallelInterleaveDataset"),
        {
            "cycle_length": "_cycle_length",
            "block_length": "_block_length",
            **_PARALLEL,
            "deterministic": By("interleave_order"),
        },
        _MAP_FUNC,
        nodes=("Interleave", "ParallelInterleave"),
        captured=("LegacyParallelInterleave",),
        facts=Fact.SAME
        | Fact.RECORDS_INSIDE
        | Fact.INNER
        | Fact.READS_TO_END
        | Fact.ONE_BY_ONE,
    ),
    Op(
        n.PARALLEL_INTERLEAVE,
        ("ParallelInterleaveDataset",),
        {
            "cycle_length": "_cycle_length",
            "block_length": "_block_length",
            "sloppy": By("sloppy"),
            "buffer_output_elements": "_buffer_output_elements",
            "prefetch_input_elements": "_prefetch_input_elements",
        },
        _MAP_FUNC,
        build=By("parallel_interleave"),
        facts=Fact.SAME | Fact.INNER | Fact.ONE_BY_ONE,
    ),
    Op(
        n.MAP_AND_BATCH,
        ("_MapAndBatchDataset",),
        {
            "batch_size": "_batch_size_t",
            "num_parallel_calls": "_num_parallel_calls_t",
            "drop_remainder": "_drop_remainder_t",
        },
        _MAP_FUNC,
        build=By("map_and_batch"),
        facts=Fact.SAME | Fact.ONE_BY_ONE,
    ),
    Op(
        n.BATCH,
        ("_BatchDataset", "_ParallelBatchDataset"),
        {**_BATCH, **_PARALLEL},
        nodes=("Batch", "ParallelBatch"),
        facts=Fact.SAME | Fact.PLUMBING | Fact.READS_TO_END | Fact.ONE_BY_ONE,
    ),
    Op(
        n.PADDED_BATCH,
        ("_PaddedBatchDataset",),
        {
            **_BATCH,
            "padded_shapes": By("padded_shapes"),
            "padding_values": By("padding_values"),
        },
        nodes=("PaddedBatch",),
        facts=Fact.SAME | Fact.PLUMBING | Fact.READS_TO_END,
    ),
    Op(
        n.RAGGED_BATCH,
        build=By("ragged_batch"),
        facts=Fact.SAME | Fact.PLUMBING | Fact.READS_TO_END | Fact.ONE_BY_ONE,
    ),
    Op(
        n.SPARSE_BATCH,
        ("_DenseToSparseBatchDataset",),
        {"batch_size": "_batch_size", "row_shape": "_row_shape"},
        facts=Fact.SAME | Fact.READS_TO_END | Fact.ONE_BY_ONE,
    ),
    Op(n.BUCKET_BY_SEQUENCE_LENGTH, facts=Fact.SAME | Fact.READS_TO_END),
    Op(
        n.UNBATCH,
        ("_UnbatchDataset",),
        inputs=By("before_normalizing"),
        nodes=("Unbatch", "FlatMap"),
        facts=Fact.SAME | Fact.PLUMBING | Fact.READS_TO_END | Fact.ONE_BY_ONE,
    ),
    Op(
        n.REBATCH,
        ("_RebatchDataset",),
        {"batch_size": "_batch_sizes", "drop_remainder": "_drop_remainder"},
        inputs=By("before_normalizing"),
        facts=Fact.SAME | Fact.PLUMBING | Fact.READS_TO_END | Fact.ONE_BY_ONE,
    ),
    Op(
        n.WINDOW,
        ("_WindowDataset",),
        {
            "size": "_size",
            "shift": "_shift",
            "stride": "_stride",
            "drop_remainder": "_drop_remainder",
        },
        nodes=("Window",),
        facts=Fact.SAME
        | Fact.PLUMBING
        | Fact.ENDS_EARLY
        | Fact.READS_TO_END
        | Fact.UNTOLD,
    ),
    Op(
        n.GROUP_BY_WINDOW,
        ("_GroupByWindowDataset",),
        {"window_size": By("window_size")},
        ("_key_func", "_reduce_func", "_window_size_func"),
        build=By("group_by_window"),
        facts=Fact.SAME
        | Fact.INNER
        | Fact.ENDS_EARLY
        | Fact.READS_TO_END
        | Fact.DEFAULT_FUNCTIONS,
    ),
    Op(
        n.GROUP_BY_REDUCER,
        ("_GroupByReducerDataset",),
        functions=("_key_func", "_init_func", "_reduce_func", "_finalize_func"),
        build=By("group_by_reducer"),
        facts=Fact.SAME,
    ),
    Op(
        n.SHUFFLE,
        ("_ShuffleDataset",),
        {"buffer_size": "_buffer_size", **_SHUFFLE},
        nodes=("Shuffle",),
        captured=("ShuffleAndRepeat",),
        facts=Fact.SAME
        | Fact.WAITING_COUNTED
        | Fact.DRAWS_ORDER
        | Fact.STATE
        | Fact.LOOKS_AT_NONE
        | Fact.READS_TO_END
        | Fact.ONE_BY_ONE
        | Fact.PATCH_PASSES,
    ),
    Op(
        n.SHUFFLE_AND_REPEAT,
        ("_ShuffleAndRepeatDataset",),
        {"buffer_size": "_buffer_size", "count": By("count"), "seed": By("seed")},
        build=By("shuffle_and_repeat"),
        facts=Fact.DRAWS
        | Fact.WAITING_COUNTED
        | Fact.DRAWS_ORDER
        | Fact.STATE
        | Fact.READS_TO_END
        | Fact.REPEATS
        | Fact.ONE_BY_ONE,
    ),
    Op(
        n.GLOBAL_SHUFFLE,
        ("_GlobalShuffleDataset",),
        _SHUFFLE,
        inputs=By("before_global_shuffle"),
        build=By("global_shuffle"),
        facts=Fact.DRAWS | Fact.DRAWS_ORDER | Fact.STATE,
    ),
    Op(
        n.REPEAT,
        ("_RepeatDataset",),
        {"count": By("count")},
        nodes=("Repeat", "ForeverRepeat", "FiniteRepeat", "EmptyRepeat"),
        captured=("FiniteRepeat", "ForeverRepeat"),
        facts=Fact.SAME
        | Fact.PLUMBING
        | Fact.LOOKS_AT_NONE
        | Fact.BEFORE_STEP
        | Fact.READS_TO_END
        | Fact.REPEATS
        | Fact.ONE_BY_ONE
        | Fact.PATCH_PASSES,
    ),
    Op(
        n.TAKE,
        ("_TakeDataset",),
        {"count": "_count"},
        nodes=("Take", "FiniteTake", "EmptyTake"),
        captured=("FiniteTake",),
        facts=Fact.SAME
        | Fact.PLUMBING
        | Fact.LOOKS_AT_NONE
        | Fact.BEFORE_STEP
        | Fact.ENDS_EARLY
        | Fact.PATCH_PASSES,
    ),
    Op(
        n.SKIP,
        ("_SkipDataset",),
        {"count": "_count"},
        nodes=("Skip", "FiniteSkip", "EmptySkip"),
        captured=("FiniteSkip",),
        facts=Fact.SAME
        | Fact.PLUMBING
        | Fact.LOOKS_AT_NONE
        | Fact.LEAVES_OUT
        | Fact.READS_TO_END,
    ),
    Op(
        n.SHARD,
        ("_ShardDataset",),
        {"num_shards": "_num_shards", "index": "_index"},
        nodes=("Shard",),
        facts=Fact.SAME
        | Fact.PLUMBING
        | Fact.LOOKS_AT_NONE
        | Fact.LEAVES_OUT
        | Fact.ENDS_EARLY
        | Fact.READS_TO_END,
    ),
    Op(
        n.CACHE,
        ("CacheDataset",),
        {"filename": "_filename"},
        nodes=("Cache", "MemoryDataset", "File", "Memory"),
        captured=("MemoryCache", "MemoryCacheImpl", "FileCache"),
        writes_to="filename",
        facts=Fact.SAME
        | Fact.STATE
        | Fact.KEEPS_ELEMENTS
        | Fact.PLUMBING
        | Fact.READS_TO_END
        | Fact.ONE_BY_ONE,
    ),
    Op(
        n.SNAPSHOT,
        ("_SnapshotDataset",),
        {"path": "_path", "compression": "_compression"},
        ("_reader_func", "_shard_func"),
        build=By("snapshot"),
        writes_to="path",
        facts=Fact.STATE | Fact.KEEPS_ELEMENTS | Fact.UNTOLD | Fact.DEFAULT_FUNCTIONS,
    ),
    Op(
        n.PREFETCH,
        ("_PrefetchDataset",),
        {"buffer_size": "_buffer_size"},
        nodes=("Prefetch",),
        facts=Fact.SAME
        | Fact.PLUMBING
        | Fact.PASSES_ON
        | Fact.LOOKS_AT_NONE
        | Fact.BEFORE_STEP
        | Fact.READS_TO_END
        | Fact.ONE_BY_ONE
        | Fact.PATCH_PASSES,
    ),
    Op(
        n.ENUMERATE,
        nodes=("Zip",),
        facts=Fact.SAME | Fact.PLUMBING | Fact.READS_TO_END | Fact.TOLD_BY_ARGUMENTS,
    ),
    Op(
        n.SCAN,
        ("_ScanDataset",),
        functions=("_scan_func",),
        build=By("scan"),
        nodes=("Scan",),
        facts=Fact.SAME | Fact.READS_TO_END,
    ),
    Op(
        n.UNIQUE,
        ("_UniqueDataset",),
        facts=Fact.SAME | Fact.READS_TO_END | Fact.ONE_BY_ONE,
    ),
    Op(
        n.TAKE_WHILE,
        ("_TakeWhileDataset",),
        functions=("_predicate",),
        facts=Fact.SAME | Fact.ENDS_EARLY,
    ),
    Op(
        n.WITH_OPTIONS,
        ("_OptionsDataset",),
        By("own_options"),
        build=By("with_options"),
        facts=Fact.SAME
        | Fact.PLUMBING
        | Fact.PASSES_ON
        | Fact.SAYS_ONLY
        | Fact.LOOKS_AT_NONE
        | Fact.BEFORE_STEP
        | Fact.READS_TO_END
        | Fact.ONE_BY_ONE,
    ),
    Op(
        n.IGNORE_ERRORS,
        ("_IgnoreErrorsDataset",),
        {"log_warning": By("from_graph", "log_warning")},
        facts=Fact.SAME | Fact.ONE_BY_ONE,
    ),
    Op(
        n.ASSERT_CARDINALITY,
        ("_AssertCardinalityDataset",),
        {"expected_cardinality": "_expected_cardinality"},
        build=By("transformation", n.ASSERT_CARDINALITY),
        facts=Fact.SAME
        | Fact.PLUMBING
        | Fact.SAYS_ONLY
        | Fact.LOOKS_AT_NONE
        | Fact.BEFORE_STEP
        | Fact.ONE_BY_ONE,
    ),
    Op(
        n.COPY_TO_DEVICE,
        ("_CopyToDeviceDataset",),
        {"target_device": "_target_device", "source_device": "_source_device_string"},
        build=By("transformation", n.COPY_TO_DEVICE),
        facts=Fact.ONE_BY_ONE | Fact.UNTOLD,
    ),
    Op(
        n.PARSE_EXAMPLE_DATASET,
        ("_ParseExampleDataset",),
        _PARALLEL,
        build=By("parse_example_dataset"),
        facts=Fact.SAME | Fact.ONE_BY_ONE,
    ),
    Op(
        n.RESTRUCTURED,
        ("_RestructuredDataset",),
        build=By("restructured"),
        facts=Fact.SAME | Fact.PLUMBING | Fact.READS_TO_END | Fact.ONE_BY_ONE,
    ),
    Op(
        n.DENSE_TO_RAGGED,
        ("_DenseToRaggedDataset",),
        {"row_splits_dtype": By("row_splits_dtype")},
        build=By("dense_to_ragged"),
        facts=Fact.SAME | Fact.ONE_BY_ONE,
    ),
)
