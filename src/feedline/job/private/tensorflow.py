"""Every private module and attribute of TensorFlow that feedline uses."""

from __future__ import annotations

from functools import partial
from typing import Any

from feedline.job.private.attribute import Attribute
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

_attribute = partial(Attribute, "tensorflow")

# Datasets: what every one has.
variant_tensor = _attribute("_variant_tensor")
inputs = _attribute("_inputs")
functions = _attribute("_functions")

# Datasets: what they read from.
input_dataset = _attribute("_input_dataset")
dataset_to_concatenate = _attribute("_dataset_to_concatenate")
datasets = _attribute("_datasets")
data_inputs = _attribute("_data_inputs")
selector_input = _attribute("_selector_input")
filenames = _attribute("_filenames")
impl = _attribute("_impl")
tensors = _attribute("_tensors")
sparse_tensor = _attribute("_sparse_tensor")

# Datasets: their functions. Each is wrapped, with the user's own as `func`.
map_func = _attribute("_map_func")
scan_func = _attribute("_scan_func")
key_func = _attribute("_key_func")
reduce_func = _attribute("_reduce_func")
window_size_func = _attribute("_window_size_func")
func = _attribute("_func")
input_structure = _attribute("_input_structure")

# Datasets: their arguments, where more than one op is told by them.
batch_size = _attribute("_batch_size")
buffer_size = _attribute("_buffer_size")
count = _attribute("_count")
cycle_length = _attribute("_cycle_length")
deterministic = _attribute("_deterministic")
drop_remainder = _attribute("_drop_remainder")
element_spec = _attribute("_element_spec")
features = _attribute("_features")
initial_state = _attribute("_initial_state")
name = _attribute("_name")
num_parallel_calls = _attribute("_num_parallel_calls")
padded_shapes = _attribute("_padded_shapes")
padding_values = _attribute("_padding_values")
rerandomize = _attribute("_rerandomize")
seed = _attribute("_seed")
seed2 = _attribute("_seed2")
stop_on_empty_dataset = _attribute("_stop_on_empty_dataset")

CSV_DATA = tuple(map(_attribute, ("_record_defaults", "_select_cols", "_exclude_cols")))
"""The arguments of a CSV dataset that are data."""

# The generator behind `from_generator`; the values and the proto of `Options`; a spec.
generator = _attribute("_generator")
options = _attribute("_options")
to_proto = _attribute("_to_proto")
batch = _attribute("_batch")

# Iterators, and those of `tf.distribute`.
dataset = _attribute("_dataset")
iterator_resource = _attribute("_iterator_resource")
flat_output_types = _attribute("_flat_output_types")
flat_output_shapes = _attribute("_flat_output_shapes")
iterators = _attribute("_iterators")
iterator = _attribute("_iterator")
device_iterators = _attribute("_device_iterators")

# Distributed datasets.
original_dataset = _attribute("_original_dataset")
strategy = _attribute("_strategy")

# Functions and graphs. `functions` above is also what a graph defines.
jit_compile = _attribute("_jit_compile")
reduce_retracing = _attribute("_reduce_retracing")
clone = _attribute("_clone")
list_all_concrete_functions = _attribute("_list_all_concrete_functions")
tf_decorator = _attribute("_tf_decorator")
get_function = _attribute("_get_function")
add_function_recursive = _attribute("_add_function_recursive")
create_op_internal = _attribute("_create_op_internal")
handle_data = _attribute("_handle_data")
out_dtypes = _attribute("_out_dtypes")

# The words of an error.
message = _attribute("_message")

# The generator of seeds in the eager context.
rng = _attribute("_rng")

# What is changed as its module is loaded.
excluded_paths = _attribute("_EXCLUDED_PATHS")
iterable_input = _attribute("_IterableInput")
tf_ag_dataset_for_stmt = _attribute("_tf_ag_dataset_for_stmt")
registry = _attribute("_registry")
eager_tensor_base = _attribute("_EagerTensorBase")
numpy = _attribute("_numpy")


def __getattr__(name: str) -> Any:
    found = globals()[name] = load("tensorflow", TABLE, name)
    return found
