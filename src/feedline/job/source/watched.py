"""Which attributes of Keras' objects a compiled step is held to, and why.

A graph of a step is the same only while what it was traced with is the same. So it is
held to those attributes that the step reads while it is traced, and to no others: what
Keras sets on a model by itself, when it validates, evaluates, predicts or stops, says
nothing of the step.
"""

from __future__ import annotations

from typing import Any

HELD = {
    "_trainable": "which weights have gradients is fixed when the step is traced",
    "_learning_rate": "a number, a variable or a schedule becomes part of the graph",
    "_dtype_policy": "the types of all operations follow from it",
}
"""Attributes of a library's object that its own code reads in a step. Besides these:
any public one that holds a plain value (a rate, a switch that `call` may read), and any
at all where the class is the user's, whose code may read it."""

SET_BY_KERAS = {
    "built": "variables are made once; tracing the step made all that it uses",
    "train_function": "what runs the step; `fit` calls what it finds there",
    "test_function": "made by the first validation or `evaluate`",
    "predict_function": "made by the first `predict`",
    "stop_training": "read by `fit` between steps; `EarlyStopping` sets it",
    "steps_per_execution": "read when a train function is made, not in the step",
    "history": "what `fit` returns; made anew by each",
    "_eval_epoch_iterator": "the validation's data, kept by `fit`",
    "_initial_epoch": "where a fit begins, set by `BackupAndRestore`",
}
"""Attributes that Keras sets by itself, on a model, its layers, losses and metrics, and
why a step that is traced does not depend on them."""


def is_held(owner: Any, name: str) -> bool:
    """May this attribute of the object, by its name, be read by a step?"""
    if name not in SET_BY_KERAS:
        return True
    return not any(
        each.__module__.partition(".")[0] == "keras" for each in type(owner).__mro__
    )
