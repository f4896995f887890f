"""What is known of TensorFlow and Keras: a closed list, for both judges.

Everything here computes, or keeps what it keeps in variables. What is not listed may
print, write, count or draw behind our back, and is taken to do so. A thing is known by
what it is, not by the name that the script has for it: `tf.abs` that was replaced by a
function of the user's is the user's.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

from feedline.job.source import known_python
from feedline.job.source.known_python import READING, name_of, words

ROOTS = ("tensorflow", "keras", "tf_keras")

# Namespaces of TensorFlow's public interface, and what does not belong in them.
_TENSORFLOW = words("""
    math nn linalg image signal strings sparse ragged bitwise random nest sets dtypes
    debugging quantization math.special experimental.numpy random.experimental
""")
_DECODING = ("decode_", "parse_", "encode_", "serialize_", "deserialize_")
_NOT = words("""
    print py_function numpy_function timestamp init_scope executing_eagerly load_library
    load_op_library get_logger import_graph_def register_tensor_conversion_function
    no_gradient variable_creator_scope custom_gradient recompute_grad inside_function
    nondifferentiable_batch_function check_pinned set_seed set_global_generator
    get_global_generator seed create_rng_state learned_unigram_candidate_sampler
    enable_check_numerics disable_check_numerics set_log_device_placement
    enable_traceback_filtering disable_traceback_filtering get_log_device_placement
    experimental_enable_numpy_behavior
""")
_DRAWING = ("random", "dropout", "sampler")
_KERAS_FUNCTIONS = words("""
    ops losses metrics activations random backend.config utils.numerical_utils
    legacy.backend backend.tensorflow tree backend.common initializers regularizers
""")
_KERAS_NOT = words("""
    set_floatx set_epsilon set_image_data_format set_backend clear_session
    set_learning_phase manual_variable_initialization get_uid reset_uids set_keras_mask
    deserialize get serialize disable_flash_attention enable_flash_attention
    set_max_epochs set_max_steps_per_epoch set_nnx_enabled custom_gradient set_value
    variable random_uniform_variable random_normal_variable update
""")
_KERAS_KINDS = words("""
    Variable KerasTensor DTypePolicy FloatDTypePolicy InputSpec layers.Layer
    metrics.Metric losses.Loss optimizers.Optimizer regularizers.Regularizer
    optimizers.schedules.LearningRateSchedule initializers.Initializer
    constraints.Constraint random.SeedGenerator
""")
_TENSORFLOW_KINDS = words("""
    Variable Tensor RaggedTensor SparseTensor IndexedSlices TensorShape DType
    dtypes.DType TypeSpec Module GradientTape random.Generator lookup.StaticHashTable
    lookup.StaticVocabularyTable
""")
_MADE_IN_STEPS = words("""
    GradientTape TensorArray TensorShape TensorSpec name_scope IndexedSlices
    SparseTensor
""")

METHODS = READING | words("""
    gradient jacobian batch_jacobian watch stop_recording reset watched_variables assign
    assign_add assign_sub read_value scatter_add scatter_sub scatter_update
    scatter_nd_update scatter_nd_add scatter_nd_sub sparse_read gather_nd value
    apply_gradients apply scale_loss get_scaled_loss update_step get_unscaled_gradients
    finalize_variable_values

    update_state result reset_state reset_states call train_step compute_loss
    compute_metrics get_metrics_result compute_mask compute_output_shape
    compute_output_spec compute_dtype compiled_loss compiled_metrics add_loss
    _compute_loss stateless_call symbolic_call

    set_shape with_rank is_compatible_with merge_with is_fully_defined num_elements
    concatenate ref assert_has_rank to_tensor to_sparse row_lengths with_values
    row_splits value_rowids nrows bounding_shape merge_dims with_flat_values
    from_row_splits from_tensor from_row_lengths from_value_rowids experimental_ref
    lookup stack unstack concat gather

    normal uniform uniform_full_int truncated_normal binomial make_seeds next __call__
""")
"""Methods that a step may call of things that only running it would tell: of tapes,
variables and optimizers; of metrics, layers and models; of tensors and shapes; of
generators, whose state is a variable."""


def may_call(value: Any) -> bool:
    """Is it a function that only computes, in a step as well?"""
    if known_python.may_call(value, in_steps=True):
        return True
    root, _, inside = str(getattr(value, "__module__", None) or "").partition(".")
    if root in ("keras", "tf_keras"):
        name, inside = name_of(value), inside.removeprefix("src.")
        known = any(f"{inside}.".startswith(f"{each}.") for each in _KERAS_FUNCTIONS)
        return known and name not in _KERAS_NOT and not name.startswith("set_")
    return root == "tensorflow" and _is_public(_path(value))


def computes(value: Any) -> bool:
    """Is it a function of TensorFlow's that a step may call and that draws nothing?"""
    if not str(getattr(value, "__module__", None)).startswith("tensorflow."):
        return False
    path = _path(value)
    return _is_public(path) and not any(each in path for each in _DRAWING)


def _path(value: Any) -> str:
    from feedline.job.private.tensorflow import tf_export

    return str(tf_export.get_canonical_name_for_symbol(value, "tensorflow") or "")


def _is_public(path: str) -> bool:
    space, _, name = path.rpartition(".")
    if not name or name in _NOT:
        return False
    if space == "io":
        return name.startswith(_DECODING)
    return not space or space in _TENSORFLOW


def may_make(kind: type) -> bool:
    """May a step make such objects? Making some counts their names, or makes
    variables."""
    return known_python.may_make(kind, in_steps=True) or any(
        kind is each for each in _named("tensorflow", _MADE_IN_STEPS)
    )


def may_name(module: types.ModuleType) -> bool:
    return module.__name__.partition(".")[0] in (*ROOTS, "math", "numpy")


def is_known_class(kind: type) -> bool:
    """Theirs or Python's, so that it may be named, as in `isinstance`."""
    root = str(kind.__module__).partition(".")[0]
    return root in (*ROOTS, "numpy") or known_python.is_builtin(kind)


def keeps_only_variables(kind: type) -> bool:
    """Do its objects keep all that they keep in variables, but for what the user wrote
    in classes made from them?"""
    known = [
        *_named("tensorflow", _TENSORFLOW_KINDS),
        *_named("keras", _KERAS_KINDS),
        *_named("tf_keras", _KERAS_KINDS),
    ]
    return any(issubclass(kind, each) for each in known)


def _named(root: str, paths: frozenset[str]) -> tuple[type, ...]:
    # The library loads parts of itself late: with more modules more may be found.
    return _named_in(sys.modules.get(root), paths, len(sys.modules))


@functools.lru_cache(16)  # asked of every object that a step may reach
def _named_in(module: Any, paths: frozenset[str], _: int) -> tuple[type, ...]:
    found = []
    for path in paths if module is not None else ():
        value: Any = module
        for name in path.split("."):
            value = getattr(value, name, None)
        if isinstance(value, type):
            found.append(value)
    return tuple(found)


def is_container(value: Any) -> bool:
    """A list or a dict, also as Keras keeps them."""
    return isinstance(value, list | dict | set)
