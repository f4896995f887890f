"""Pre-trained word vectors looked up in one function, a head trained in another.

What is wrong: both functions are compiled, and both are tiny. Each step pays
twice for the way from Python into TensorFlow and back, for a few microseconds
of arithmetic on 64 short sentences.

Cause: launch-overhead | small-batch
Bound: overhead
"""

import keras
import numpy as np
import tensorflow as tf

WORDS = 10_000
DIM = 100
LENGTH = 10
SENTENCES = 64_000

vectors = tf.Variable(tf.random.normal([WORDS, DIM]), trainable=False)


@tf.function
def embed(words):
    return tf.reduce_mean(tf.nn.embedding_lookup(vectors, words), axis=1)


def main():
    rng = np.random.default_rng(0)
    sentences = rng.integers(0, WORDS, size=(SENTENCES, LENGTH))
    labels = rng.integers(0, 2, size=(SENTENCES, 1)).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((sentences, labels))
    dataset = dataset.shuffle(1_000).batch(64).prefetch(tf.data.AUTOTUNE)

    head = keras.Sequential([keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1)
    loss_of = keras.losses.BinaryCrossentropy(from_logits=True)

    @tf.function
    def train(features, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, head(features, training=True))
        gradients = tape.gradient(loss, head.trainable_variables)
        optimizer.apply_gradients(zip(gradients, head.trainable_variables, strict=True))
        return loss

    for epoch in range(12):
        for words, label in dataset:
            loss = train(embed(words), label)
        print(f"epoch {epoch}: loss {float(loss):.3f}")


if __name__ == "__main__":
    main()
