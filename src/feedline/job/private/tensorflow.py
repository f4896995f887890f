"""Every private module of TensorFlow that feedline uses, and what of it."""

from __future__ import annotations

from typing import Any

from feedline.job.private.expected import Expected, load

PACKAGE = "tensorflow.python."
"""What is TensorFlow's own stands in modules that begin so."""

DATA_PACKAGE = "tensorflow.python.data."
AUTOGRAPH_PACKAGE = "tensorflow.python.autograph."

_DATA = "tensorflow.python.data"

# Modules that are changed as they are loaded (`script/hooks.py` says how).
DATASETS = f"{_DATA}.ops.dataset_ops"
ITERATORS = f"{_DATA}.ops.iterator_ops"
LOOPS_IN_FUNCTIONS = f"{_DATA}.ops.dataset_autograph"
DISTRIBUTED = "tensorflow.python.distribute.input_lib"
DISTRIBUTING = "tensorflow.python.distribute.input_util"
FUNCTIONS = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
GRADIENTS = "tensorflow.python.eager.backprop"
TRACING = "tensorflow.python.framework.func_graph"
TENSORS = "tensorflow.python.framework.ops"
TRACEBACKS = "tensorflow.python.util.traceback_utils"

# Functions that start an operation at once: a worker process refuses them.
EAGER_CALLS = (
    ("tensorflow.python.pywrap_tfe", ("TFE_Py_FastPathExecute", "TFE_Py_Execute")),
    ("tensorflow.python.framework.constant_op", ("convert_to_eager_tensor",)),
    ("tensorflow.python.eager.execute", ("quick_execute", "execute")),
)

TABLE: dict[str, Expected] = {
    # Dataset classes, to make an object again with arguments that have no public name.
    "dataset_ops": Expected(
        f"{_DATA}.ops.dataset_ops",
        (
            *("DatasetV1Adapter", "UnaryUnchangedStructureDataset"),
            *("_RestructuredDataset", "_VariantDataset"),
        ),
    ),
    "batching": Expected(
        f"{_DATA}.experimental.ops.batching", ("_MapAndBatchDataset",)
    ),
    "directed_interleave_op": Expected(
        f"{_DATA}.ops.directed_interleave_op", ("_DirectedInterleaveDataset",)
    ),
    "from_tensor_slices_op": Expected(
        f"{_DATA}.ops.from_tensor_slices_op", ("_TensorSliceDataset",)
    ),
    "global_shuffle_op": Expected(
        f"{_DATA}.experimental.ops.global_shuffle_op",
        ("_global_shuffle",),
        optional=True,
    ),
    "group_by_window_op": Expected(
        f"{_DATA}.ops.group_by_window_op", ("_GroupByWindowDataset",)
    ),
    "grouping": Expected(
        f"{_DATA}.experimental.ops.grouping", ("_GroupByReducerDataset",)
    ),
    "map_op": Expected(f"{_DATA}.ops.map_op", ("_MapDataset", "_ParallelMapDataset")),
    "parsing_ops": Expected(
        f"{_DATA}.experimental.ops.parsing_ops", ("_ParseExampleDataset",)
    ),
    "ragged_batch_op": Expected(
        f"{_DATA}.ops.ragged_batch_op", ("_DenseToRaggedDataset",)
    ),
    "readers": Expected(f"{_DATA}.ops.readers", ("ParallelInterleaveDataset",)),
    "shuffle_ops": Expected(
        f"{_DATA}.experimental.ops.shuffle_ops", ("_ShuffleAndRepeatDataset",)
    ),
    "snapshot_op": Expected(f"{_DATA}.ops.snapshot_op", ("_SnapshotDataset",)),
    # Iterators are dropped on a thread of ours.
    "OwnedIterator": Expected(f"{_DATA}.ops.iterator_ops", only="OwnedIterator"),
    # Every dataset class wraps its function, and draws its seed, by these names.
    "structured_function": Expected(
        f"{_DATA}.ops.structured_function", ("StructuredFunctionWrapper",)
    ),
    "random_seed": Expected(f"{_DATA}.util.random_seed", ("get_seed",)),
    # Elements as flat lists of tensors, and back.
    "nest": Expected(f"{_DATA}.util.nest", ("assert_same_structure", "flatten")),
    "structure": Expected(
        f"{_DATA}.util.structure",
        ("from_compatible_tensor_list", "get_flat_tensor_specs", "to_tensor_list"),
    ),
    "nested_structure_coder": Expected(
        "tensorflow.python.saved_model.nested_structure_coder",
        ("decode_proto", "encode_structure"),
    ),
    "struct_pb2": Expected("tensorflow.core.protobuf.struct_pb2", ("StructuredValue",)),
    "distributed_values": Expected(
        "tensorflow.python.distribute.values", ("PerReplica",)
    ),
    # Graphs.
    "context": Expected(
        "tensorflow.python.eager.context", ("FunctionCallOptions", "context")
    ),
    "config_pb2": Expected("tensorflow.core.protobuf.config_pb2", ("ConfigProto",)),
    "func_graph": Expected("tensorflow.python.framework.func_graph", ("FuncGraph",)),
    "framework_ops": Expected(
        "tensorflow.python.framework.ops", ("convert_to_tensor", "get_default_graph")
    ),
    "handle_data_util": Expected(
        "tensorflow.python.ops.handle_data_util", ("copy_handle_data",)
    ),
    "parallel_for": Expected(
        "tensorflow.python.ops.parallel_for.control_flow_ops", ("pfor",)
    ),
    "op_def_registry": Expected(
        "tensorflow.python.framework.op_def_registry", ("get",)
    ),
    "tensor_util": Expected(
        "tensorflow.python.framework.tensor_util", ("constant_value",)
    ),
    # Python functions in graphs, by their tokens.
    "script_ops": Expected(
        "tensorflow.python.ops.script_ops", ("EagerFunc", "_py_funcs")
    ),
    # Whether operations are deterministic, and the generator of the whole program.
    "config": Expected(
        "tensorflow.python.framework.config",
        (
            *("disable_op_determinism", "enable_op_determinism"),
            "is_op_determinism_enabled",
        ),
    ),
    "stateful_random_ops": Expected(
        "tensorflow.python.ops.stateful_random_ops", ("global_generator",)
    ),
    # What is public, and which line of the script made an operation.
    "tf_export": Expected(
        "tensorflow.python.util.tf_export", ("get_canonical_name_for_symbol",)
    ),
    "tf_stack": Expected("tensorflow.python.util.tf_stack", ("extract_stack",)),
}


def __getattr__(name: str) -> Any:
    found = globals()[name] = load("tensorflow", TABLE, name, "tensorflow.py")
    return found
