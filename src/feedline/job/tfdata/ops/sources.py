"""The sources: their entries of the op table (see `table.py`)."""

from __future__ import annotations

from feedline.job.tfdata.ops import names as n
from feedline.job.tfdata.ops.op import Argument, By, Fact, Op

_FILES: dict[str, Argument] = {
    "filenames": By("filenames"),
    "compression_type": "_compression_type",
    "buffer_size": "_buffer_size",
    "num_parallel_reads": By("parallel_reads"),
}
SOURCES = (
    Op(
        n.FROM_TENSORS,
        ("_TensorDataset",),
        build=By("static", n.FROM_TENSORS),
        nodes=("Tensor",),
        captured=("FromTensor", "Tensor"),
        facts=Fact.SAME | Fact.TENSORS | Fact.PLUMBING,
    ),
    Op(
        n.FROM_TENSOR_SLICES,
        ("_TensorSliceDataset", "_SparseTensorSliceDataset"),
        build=By("static", n.FROM_TENSOR_SLICES),
        nodes=("TensorSlice",),
        captured=("TensorSlice",),
        facts=Fact.SAME | Fact.TENSORS | Fact.PLUMBING,
    ),
    Op(
        n.FROM_LIST,
        ("_ListDataset",),
        build=By("impossible"),
        facts=Fact.SAME | Fact.TENSORS | Fact.PLUMBING,
    ),
    Op(
        n.FROM_GENERATOR,
        build=By("static", n.FROM_GENERATOR),
        nodes=("FlatMap",),
        captured=("FromGenerator",),
        facts=Fact.UNTOLD | Fact.WORKERS,
    ),
    Op(
        n.RANGE,
        ("_RangeDataset",),
        {
            "start": "_start",
            "stop": "_stop",
            "step": "_step",
            "output_type": "_output_type",
        },
        build=By("range_"),
        nodes=("Range",),
        facts=Fact.SAME | Fact.PLUMBING,
    ),
    Op(
        n.COUNTER,
        build=By("counter"),
        facts=Fact.SAME | Fact.PLUMBING | Fact.ENDLESS | Fact.TOLD_BY_ARGUMENTS,
    ),
    Op(
        n.RANDOM,
        ("_RandomDataset",),
        {"seed": By("seed"), "rerandomize_each_iteration": "_rerandomize"},
        build=By("static", n.RANDOM),
        facts=Fact.DRAWS | Fact.STATE | Fact.ENDLESS,
    ),
    Op(
        n.LIST_FILES,
        build=By("list_files"),
        nodes=("Shuffle", "TensorSlice"),
        facts=Fact.SAME
        | Fact.MAY_SHUFFLE
        | Fact.DRAWS_ORDER
        | Fact.STATE
        | Fact.PLUMBING
        | Fact.TOLD_BY_ARGUMENTS,
    ),
    Op(
        n.TFRECORD,
        ("TFRecordDatasetV2",),
        _FILES,
        inputs=By("file_datasets"),
        public="TFRecordDataset",
        build=By("reader", "TFRecordDataset"),
        nodes=("TFRecord", "ParallelInterleave", "FlatMap", "Interleave"),
        captured=("TFRecord",),
        facts=Fact.SAME
        | Fact.FILES
        | Fact.RECORDS
        | Fact.NAMES_FILES
        | Fact.PARALLEL_FILES
        | Fact.SIMPLE_FILES,
    ),
    Op(
        n.TEXT_LINE,
        ("TextLineDatasetV2",),
        _FILES,
        inputs=By("file_datasets"),
        public="TextLineDataset",
        build=By("reader", "TextLineDataset"),
        nodes=("TextLine", "ParallelInterleave", "FlatMap", "Interleave"),
        facts=Fact.SAME
        | Fact.FILES
        | Fact.RECORDS
        | Fact.NAMES_FILES
        | Fact.PARALLEL_FILES
        | Fact.SIMPLE_FILES,
    ),
    Op(
        n.FIXED_LENGTH_RECORD,
        ("FixedLengthRecordDatasetV2",),
        {
            **_FILES,
            "record_bytes": "_record_bytes",
            "header_bytes": "_header_bytes",
            "footer_bytes": "_footer_bytes",
        },
        inputs=By("file_datasets"),
        public="FixedLengthRecordDataset",
        build=By("reader", "FixedLengthRecordDataset"),
        nodes=("FixedLength", "ParallelInterleave", "FlatMap"),
        facts=Fact.SAME
        | Fact.FILES
        | Fact.RECORDS
        | Fact.NAMES_FILES
        | Fact.PARALLEL_FILES,
    ),
    Op(
        n.CSV,
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
        build=By("csv"),
        nodes=("CSV", "Csv"),
        public="CsvDataset",
        facts=Fact.SAME | Fact.FILES | Fact.RECORDS | Fact.NAMES_FILES,
    ),
    Op(
        n.MAKE_CSV_DATASET,
        build=By("make_csv_dataset"),
        facts=Fact.SAME
        | Fact.FILES
        | Fact.RECORDS
        | Fact.MAY_SHUFFLE
        | Fact.DRAWS_ORDER
        | Fact.STATE,
    ),
    Op(
        n.SQL,
        ("SqlDatasetV2",),
        {
            "driver_name": "_driver_name",
            "data_source_name": "_data_source_name",
            "query": "_query",
        },
        build=By("impossible"),
        facts=Fact.UNTOLD,
    ),
    Op(
        n.LOAD,
        ("_LoadDataset",),
        {"path": "_path", "compression": "_compression"},
        ("_reader_func",),
        build=By("load"),
        facts=Fact.SAME | Fact.FILES | Fact.DEFAULT_FUNCTIONS,
    ),
    Op(
        n.DISTRIBUTE,
        ("_DataServiceDatasetV2",),
        {
            "service": "_address",
            "protocol": "_protocol",
            "job_name": "_job_name",
            "max_outstanding_requests": "_max_outstanding_requests",
        },
        build=By("impossible"),
        facts=Fact.READ_ONCE | Fact.UNTOLD,
    ),
)
