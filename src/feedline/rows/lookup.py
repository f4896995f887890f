"""Look up rows of an `Embedding` without reading its table.

Keras gathers from the table's value. Once a variable has been written by rows,
TensorFlow hands out a copy whenever its value is asked for, so that each step
would copy the whole table. Here the rows are gathered from the variable itself.
The result is the same, and so is the gradient: `tf.IndexedSlices`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from feedline.rows import private


def by_rows(layer: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    """`layer.call` by rows; `call`, Keras' own, wherever that would not be equal."""

    @functools.wraps(call)
    @tf.autograph.experimental.do_not_convert
    def look_up(inputs: Any) -> Any:
        table = _table(layer)
        if table is None or not isinstance(inputs, tf.Tensor):
            return call(inputs)
        if inputs.dtype not in (tf.int32, tf.int64):
            inputs = tf.cast(inputs, tf.int32)
        # As in `keras.ops.take`: from the end when negative.
        count = tf.constant(table.shape[0], inputs.dtype)
        ids = tf.where(inputs < 0, inputs + count, inputs)
        return keras.ops.cast(table.sparse_read(ids), layer.compute_dtype)

    return look_up


def _table(layer: Any) -> Any:
    """The variable, None where it is not what is looked up (LoRA, quantised,
    a stateless scope)."""
    if getattr(layer, "lora_enabled", False):
        return None
    if getattr(layer, "quantization_mode", None) is not None:
        return None
    value = getattr(private.embeddings(layer), "value", None)
    if isinstance(value, tf.distribute.DistributedValues):
        # One copy per device; the one that a read takes here and now.
        value = private.copy_here(value)
    return value if isinstance(value, tf.Variable) else None
