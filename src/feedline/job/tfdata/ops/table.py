"""THE table: every Dataset op that feedline knows, one entry each.

Which class of TensorFlow makes it, where its public arguments are kept, how it is made
again, and every fact that anybody asks. No list of ops stands anywhere else: to know a
new op, add its name to `names.py` and an entry to
`sources.py` or `transformations.py`. An entry without a class is a
public method that TensorFlow makes of several objects; `composites.py` recognises it.
Importing this needs no TensorFlow.
"""

from __future__ import annotations

from feedline.job.tfdata.ops import names as n
from feedline.job.tfdata.ops.op import Op
from feedline.job.tfdata.ops.sources import SOURCES
from feedline.job.tfdata.ops.transformations import BRANCHES, TRANSFORMATIONS

OPS: dict[str, Op] = {op.name: op for op in (*SOURCES, *BRANCHES, *TRANSFORMATIONS)}
CLASSES: dict[str, Op] = {cls: op for op in OPS.values() for cls in op.classes}

CAPTURED: dict[str, str] = {
    name: op.name for op in OPS.values() for name in op.captured
}
"""Ops by the names that a profiler capture has for them."""

INNER_KERNELS: dict[str, str] = {
    "TFRecordDataset": n.TFRECORD,
    "TFRecordDatasetV2": n.TFRECORD,
    "TextLineDataset": n.TEXT_LINE,
    "FixedLengthRecordDatasetV2": n.FIXED_LENGTH_RECORD,
    "CSVDatasetV2": n.CSV,
    "GeneratorDataset": n.FROM_GENERATOR,
    "PaddedBatchDatasetV2": n.PADDED_BATCH,
    "BatchDatasetV2": n.BATCH,
    "TensorSliceDataset": n.FROM_TENSOR_SLICES,
    "RangeDataset": n.RANGE,
}
"""Ops by the kernel that the graph of an inner pipeline has, the most telling first:
a reader of files holds their names in a `from_tensor_slices` of its own."""
