"""One of eight shards answers late, and the others wait for it, in order.

Cause: ordered-straggler
"""

import keras
import tensorflow as tf
from tensorflow.python.data.experimental.ops import testing

LATE, PROMPT = tf.constant([4_000, 100], tf.int64)


def read(shard):
    """Numbers from a store that answers after a while, without using the CPU."""
    delay = tf.where(shard % 8 == 5, LATE, PROMPT)
    numbers = tf.data.Dataset.range(shard, shard + 64)
    return numbers.apply(testing.sleep(delay))


def example(numbers):
    return tf.cast(numbers[:, tf.newaxis], tf.float32) / 1e6, numbers % 10


options = tf.data.Options()
options.threading.private_threadpool_size = 16

dataset = tf.data.Dataset.range(1_000_000)
dataset = dataset.interleave(
    read, cycle_length=8, num_parallel_calls=8, deterministic=True
)
dataset = dataset.batch(64).map(example).with_options(options).prefetch(2)
model = keras.Sequential([keras.layers.Dense(10, activation="softmax")])
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
model.fit(dataset, steps_per_epoch=500, epochs=4, verbose=0)
