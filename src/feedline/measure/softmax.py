"""What an output layer over all classes costs against a sample of them.

Forward and backward of the real shapes on fresh tensors: the matrix product
with every class, and TensorFlow's own sampled softmax.
"""

from __future__ import annotations

from typing import Any

from feedline.job.job import Job
from feedline.job.loops.loop import Clock
from feedline.measure.measurement import SoftmaxCost
from feedline.measure.timing import compare

_MANY_CLASSES = 5_000
_SAMPLED = 64


def measure_softmax(
    job: Job, rows: int, clock: Clock, *, seconds: float, free_bytes: float
) -> SoftmaxCost | None:
    """`rows` is how many predictions a step makes. None: no such layer."""
    import tensorflow as tf

    last = next((layer for layer in reversed(job.layers) if layer.weights), None)
    loss = (job.loss or "").lower().replace("_", "")
    if last is None or last.kind != "Dense" or "categoricalcrossentropy" not in loss:
        return None
    width, classes = last.weights[0]
    if classes < _MANY_CLASSES or rows * classes * 4 * 4 > free_bytes / 2:
        return None
    inputs = tf.zeros((rows, width))
    kernel = tf.Variable(tf.zeros((classes, width)))
    bias = tf.Variable(tf.zeros((classes,)))
    labels = tf.range(rows, dtype=tf.int64) % classes

    @tf.function
    def full() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            logits = tf.matmul(inputs, kernel, transpose_b=True) + bias
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        return tape.gradient(loss, [inputs, kernel, bias])

    @tf.function
    def sampled() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            loss = tf.nn.sampled_softmax_loss(
                kernel, bias, labels[:, None], inputs, _SAMPLED, classes
            )
        return tape.gradient(loss, [inputs, kernel, bias])

    times = compare({"full": full, "sampled": sampled}, clock, seconds=seconds)
    return SoftmaxCost(last.name, classes, times["full"].value, times["sampled"].value)
