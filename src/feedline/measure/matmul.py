"""On a device with tensor cores: what its layers' matrix products cost as they
are, padded to multiples of eight, and in half precision. Has not run on a GPU
here; the same code runs on the CPU in tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from feedline.job.job import Job
from feedline.job.loops.loop import Clock
from feedline.measure.measurement import MatmulCost
from feedline.measure.timing import compare

_LARGEST = 3


def measure_matmuls(
    job: Job, rows: int, device: str, clock: Clock, *, seconds: float
) -> tuple[MatmulCost, ...]:
    dense = [
        layer
        for layer in job.layers
        if layer.kind == "Dense" and layer.weights and len(layer.weights[0]) == 2
    ]
    dense.sort(key=lambda layer: -layer.weights[0][0] * layer.weights[0][1])
    found = []
    for layer in dense[:_LARGEST]:
        width, units = layer.weights[0]
        shape = (rows, width, units)
        half = layer.compute_dtype in ("float16", "bfloat16")
        dtype = layer.compute_dtype if half else "float32"
        calls = {"as is": _product(shape, dtype, device)}
        padded = tuple(-(-length // 8) * 8 for length in shape)
        if padded != shape:
            calls["padded"] = _product(padded, dtype, device)
        if not half:
            calls["half"] = _product(shape, "float16", device)
        times = compare(calls, clock, seconds=seconds / _LARGEST)
        found.append(
            MatmulCost(
                layer.name,
                shape,
                times["as is"].value,
                times["padded"].value if "padded" in times else None,
                times["half"].value if "half" in times else None,
            )
        )
    return tuple(found)


def _product(shape: tuple[int, ...], dtype: str, device: str) -> Callable[[], object]:
    """Forward and backward of one dense layer; returns when it is done."""
    import tensorflow as tf

    rows, width, units = shape
    with tf.device(device):
        inputs = tf.zeros((rows, width), dtype)
        kernel = tf.zeros((width, units), dtype)

    @tf.function
    def product() -> Any:
        with tf.device(device):
            out = tf.matmul(inputs, kernel)
            back = tf.matmul(out, kernel, transpose_b=True)
            update = tf.matmul(inputs, out, transpose_a=True)
            return tf.reduce_sum(back) + tf.reduce_sum(update)

    def call() -> object:
        return product().numpy()

    return call
