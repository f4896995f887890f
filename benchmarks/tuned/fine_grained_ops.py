"""Changed: the step is a tf.function; the batches are prefetched.

The same operations, started by TensorFlow and not one by one from Python. The graph
optimizer is off, because it merges some of them, which changes the last bit.

Grade: exact
"""

import numpy as np
import tensorflow as tf

tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})

SIZE = 10
LAYERS = 20
EXAMPLES = 40_000

rng = np.random.default_rng(0)
inputs = rng.normal(size=(EXAMPLES, SIZE)).astype(np.float32)
targets = np.roll(inputs, 1, axis=1)
dataset = tf.data.Dataset.from_tensor_slices((inputs, targets))
dataset = dataset.batch(SIZE, drop_remainder=True).prefetch(tf.data.AUTOTUNE)

weights = [tf.Variable(tf.eye(SIZE) * 0.9) for _ in range(LAYERS)]
shifts = [tf.Variable(tf.zeros([SIZE])) for _ in range(LAYERS)]
rate = 0.01


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        h = x
        for weight, shift in zip(weights, shifts, strict=True):
            h = tf.matmul(h, weight)
            h = h + shift
            h = h - 0.01 * h * h
        loss = tf.reduce_mean((h - y) ** 2)
    gradients = tape.gradient(loss, weights + shifts)
    for variable, gradient in zip(weights + shifts, gradients, strict=True):
        variable.assign_sub(rate * gradient)
    return loss


for epoch in range(20):
    for x, y in dataset:
        loss = step(x, y)
    print(f"epoch {epoch}: loss {float(loss):.4f}")
