"""A graph of the step, where the step stands in the loop itself.

Left: a step that stands in the loop itself, in no function of its own
Fix: compile-step
Back: `--rehearse`; or put the step into a function
"""

import keras
import tensorflow as tf

rows = tf.random.normal((6400, 32))
data = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1])).batch(32)
model = keras.Sequential(
    [keras.Input((32,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(1)]
)
optimizer = keras.optimizers.Adam()


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


for epoch in range(4):
    for x, y in data:
        # by hand: loss = step(x, y); continue
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        both = zip(gradients, model.trainable_variables, strict=True)
        optimizer.apply_gradients(both)
    print(f"epoch {epoch}: loss {float(loss):.4f}", flush=True)
