"""Every private module and attribute of Keras that feedline uses."""

from __future__ import annotations

from functools import partial
from typing import Any

from feedline.job.private.attribute import Attribute
from feedline.job.private.expected import Expected, load

GLOBAL_STATE = "keras.src.backend.common.global_state"
"""Looked up in `sys.modules`: it is asked about only where Keras is loaded already."""

SEEDS = "keras.src.random.seed_generator"
"""So is this one."""

# Modules that are changed as they are loaded (`script/hooks.py` says how).
TRAINER = "keras.src.backend.tensorflow.trainer"
OPTIMIZER = "keras.src.optimizers.base_optimizer"
TRACEBACKS = "keras.src.utils.traceback_utils"
LAYER = "keras.src.layers.layer"

TABLE: dict[str, Expected] = {
    "TFEpochIterator": Expected(TRAINER, only="TFEpochIterator"),
    "seed_generator": Expected(SEEDS, ("global_seed_generator", "python_random")),
    "global_state": Expected(GLOBAL_STATE, ("GLOBAL_STATE_TRACKER",)),
}

_attribute = partial(Attribute, "keras")

python_random = _attribute("python_random")
"""Python's `random`, in the module that makes seeds."""

# Layers and models.
flatten_layers = _attribute("_flatten_layers")
layers = _attribute("_layers")
losses = _attribute("_losses")
symbolic_build = _attribute("_symbolic_build")

# What `compile` keeps in a model.
compile_config = _attribute("_compile_config")
compile_loss = _attribute("_compile_loss")
compile_metrics = _attribute("_compile_metrics")
loss_tracker = _attribute("_loss_tracker")
metrics = _attribute("_metrics")
COMPILED = ("_optimizer", compile_metrics.name, loss_tracker.name)
"""Not every release has all of them."""

# The graph of a functional model.
operations = _attribute("_operations")
nodes_by_depth = _attribute("_nodes_by_depth")
keras_history = _attribute("_keras_history")

# A variable's own, TensorFlow's; an optimizer's.
value = _attribute("_value")
trainable_variables = _attribute("_trainable_variables")

# What a fit reads from.
distributed_dataset = _attribute("_distributed_dataset")
eval_epoch_iterator = _attribute("_eval_epoch_iterator")
steps_seen = _attribute("_steps_seen")


def __getattr__(name: str) -> Any:
    found = globals()[name] = load("keras", TABLE, name)
    return found
