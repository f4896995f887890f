"""Readings as TensorBoard scalars, by TensorFlow's own writer.

`tf.summary.scalar` needs the package tensorboard, which need not be where the training
is; `tf.summary.write` does not, and makes the same record.
"""

from __future__ import annotations

import os
from typing import Any

from feedline.monitor.reading import Reading


class Scalars:
    """Writes into `folder`; under several workers into a folder of each, so that
    TensorBoard shows them side by side."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = os.fspath(folder)
        self._writer: Any = None

    def write(self, reading: Reading) -> None:
        import tensorflow as tf

        if self._writer is None:
            self._writer = tf.summary.create_file_writer(self._place())
        found = {
            "examples_per_second": reading.examples_per_s,
            "step_ms": reading.step_ms,
            "memory_gb": None if reading.memory is None else reading.memory / 1e9,
        }
        if reading.input_share is not None:
            low, high = reading.input_share.interval
            found |= {
                "input_share": reading.input_share.value,
                "input_share_low": low,
                "input_share_high": high,
            }
        kind = tf.compat.v1.SummaryMetadata(data_class="DATA_CLASS_SCALAR")
        kind.plugin_data.plugin_name = "scalars"
        with self._writer.as_default():
            for name, value in found.items():
                if value is not None:
                    number = tf.constant(value, tf.float32)
                    tf.summary.write(f"feedline/{name}", number, reading.step, kind)

    def flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()

    def _place(self) -> str:
        import tensorflow as tf

        try:
            resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
            several = len(resolver.cluster_spec().as_dict()) > 0
        except (ValueError, TypeError, KeyError):
            several = False
        if not several:
            return self._folder
        name = f"{resolver.task_type or 'worker'}-{resolver.task_id or 0}"
        return os.path.join(self._folder, name)
