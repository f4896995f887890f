"""Every private module of Keras that feedline uses, and what of it."""

from __future__ import annotations

from typing import Any

from feedline.job.private.expected import Expected, load

GLOBAL_STATE = "keras.src.backend.common.global_state"
"""Looked up in `sys.modules`: it is asked about only where Keras is loaded already."""

RANDOM_PACKAGE = "keras.src.random"

# Modules that are changed as they are loaded (`script/hooks.py` says how).
TRAINER = "keras.src.backend.tensorflow.trainer"
OPTIMIZER = "keras.src.optimizers.base_optimizer"
TRACEBACKS = "keras.src.utils.traceback_utils"
LAYER = "keras.src.layers.layer"

TABLE: dict[str, Expected] = {
    "TFEpochIterator": Expected(TRAINER, only="TFEpochIterator"),
    "seed_generator": Expected(
        "keras.src.random.seed_generator", ("global_seed_generator",)
    ),
    "global_state": Expected(
        GLOBAL_STATE, ("GLOBAL_STATE_TRACKER", "get_global_attribute")
    ),
}


def __getattr__(name: str) -> Any:
    found = globals()[name] = load("keras", TABLE, name, "keras.py")
    return found
