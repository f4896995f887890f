"""What `rows` uses of Keras and TensorFlow that is not public, all of it.

`rows` needs nothing else of feedline, so this stands here and not in `job/private`.
"""

from __future__ import annotations

from typing import Any


def _held(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError as error:
        import keras

        raise AttributeError(
            f"Keras {keras.__version__} has changed inside ({error}); "
            "feedline/rows/private.py has to learn about it"
        ) from error


# What is replaced on an optimizer.
APPLY_WEIGHT_DECAY = "_apply_weight_decay"
CLIP_GRADIENTS = "_clip_gradients"

RELIED_ON = (
    APPLY_WEIGHT_DECAY,
    "_backend_apply_gradients",
    "_backend_update_step",
    CLIP_GRADIENTS,
    "_distributed_tf_update_step",
    "_get_variable_index",
    "_use_weight_decay",
    "_var_key",
)
"""Of an optimizer: what is replaced, and what calls it or is called by it."""


def var_key(optimizer: Any, variable: Any) -> Any:
    return _held(optimizer, "_var_key")(variable)


def variable_index(optimizer: Any, variable: Any) -> int:
    index: int = _held(optimizer, "_get_variable_index")(variable)
    return index


def trained(optimizer: Any) -> Any:
    return _held(optimizer, "_trainable_variables")


def decays(optimizer: Any, variable: Any) -> bool:
    return bool(_held(optimizer, "_use_weight_decay")(variable))


def strategy(optimizer: Any) -> Any:
    return _held(optimizer, "_distribution_strategy")


def layers(model: Any) -> Any:
    return _held(model, "_flatten_layers")()


def embeddings(layer: Any) -> Any:
    """The variable of an `Embedding`, None as long as it is not built."""
    return getattr(layer, "_embeddings", None)


def copy_here(value: Any) -> Any:
    """Of a variable with one copy per device, the one that a read takes now."""
    return _held(value, "_get")()


def compiled_by_xla() -> bool:
    """Whether what is traced now will be compiled by XLA."""
    from tensorflow.python.framework import ops as framework
    from tensorflow.python.ops import control_flow_util

    graph = framework.get_default_graph()
    return bool(control_flow_util.GraphOrParentsInXlaContext(graph))
