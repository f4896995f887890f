"""Changed: one device without a strategy, 50 steps in one launch.

The two replicas shared one CPU. Whether a strategy may go is for a person to say: a
layer that looks at its batch (BatchNormalization) or draws would train otherwise, and
here the gradients are added up in another order.

Grade: advice
"""

import keras
import numpy as np
import tensorflow as tf

WORDS = 1_000
LENGTH = 20
SENTENCES = 64_000
GLOBAL_BATCH = 32


def main():
    rng = np.random.default_rng(0)
    sentences = tf.constant(rng.integers(0, WORDS, size=(SENTENCES, LENGTH)))
    labels = tf.constant(rng.integers(0, 2, size=(SENTENCES, 1)))

    def gather(rows):
        return tf.gather(sentences, rows), tf.gather(labels, rows)

    dataset = tf.data.Dataset.range(SENTENCES).shuffle(10_000).batch(GLOBAL_BATCH)
    dataset = dataset.map(gather, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)

    model = keras.Sequential(
        [
            keras.layers.Embedding(WORDS, 32),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(
        optimizer="adam",
        loss="binary_crossentropy",
        metrics=["accuracy"],
        steps_per_execution=50,
    )
    model.fit(dataset, epochs=20, verbose=2)


if __name__ == "__main__":
    main()
