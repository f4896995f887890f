"""The embedding classifier under MirroredStrategy, on two logical devices.

What is wrong: each replica gets 16 short sentences a step. Splitting the batch,
starting two replicas and adding up their gradients takes several times as long
as the whole step takes on one device without a strategy.

Cause: starved-replicas
Bound: overhead
"""

import keras
import numpy as np
import tensorflow as tf

WORDS = 1_000
LENGTH = 20
SENTENCES = 64_000
GLOBAL_BATCH = 32


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    two = [tf.config.LogicalDeviceConfiguration() for _ in range(2)]
    tf.config.set_logical_device_configuration(cpu, two)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    rng = np.random.default_rng(0)
    sentences = rng.integers(0, WORDS, size=(SENTENCES, LENGTH))
    labels = rng.integers(0, 2, size=(SENTENCES, 1))
    dataset = tf.data.Dataset.from_tensor_slices((sentences, labels))
    dataset = dataset.shuffle(10_000).batch(GLOBAL_BATCH).prefetch(tf.data.AUTOTUNE)

    with strategy.scope():
        model = keras.Sequential(
            [
                keras.layers.Embedding(WORDS, 32),
                keras.layers.GlobalAveragePooling1D(),
                keras.layers.Dense(1, activation="sigmoid"),
            ]
        )
        model.compile(
            optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"]
        )
    model.fit(dataset, epochs=3, verbose=2)


if __name__ == "__main__":
    main()
