"""A training loop whose step is many tiny operations, one by one from Python.

What is wrong: nothing is compiled. Each addition of two 10 x 10 matrices costs a
call from Python into TensorFlow, which takes far longer than the hundred
additions inside it, and the gradient tape records every one.

Cause: eager-step
Bound: overhead
"""

import numpy as np
import tensorflow as tf

SIZE = 10
LAYERS = 20
EXAMPLES = 40_000

rng = np.random.default_rng(0)
inputs = rng.normal(size=(EXAMPLES, SIZE)).astype(np.float32)
targets = np.roll(inputs, 1, axis=1)
dataset = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(SIZE)

weights = [tf.Variable(tf.eye(SIZE) * 0.9) for _ in range(LAYERS)]
shifts = [tf.Variable(tf.zeros([SIZE])) for _ in range(LAYERS)]
rate = 0.01

for epoch in range(1):
    for x, y in dataset:
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
    print(f"epoch {epoch}: loss {float(loss):.4f}")
