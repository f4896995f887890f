"""Changed: look-up, step and loop in one tf.function, one call per epoch.

The loop over the dataset runs inside TensorFlow, so that Python is asked once per
epoch and not twice per step. The operations are the same.

Grade: exact
"""

import keras
import numpy as np
import tensorflow as tf

WORDS = 10_000
DIM = 100
LENGTH = 10
SENTENCES = 64_000


def main():
    vectors = tf.Variable(tf.random.normal([WORDS, DIM]), trainable=False)
    rng = np.random.default_rng(0)
    sentences = rng.integers(0, WORDS, size=(SENTENCES, LENGTH))
    labels = rng.integers(0, 2, size=(SENTENCES, 1)).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((sentences, labels))
    dataset = dataset.shuffle(1_000).batch(64).prefetch(tf.data.AUTOTUNE)

    head = keras.Sequential([keras.Input((DIM,)), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(head.trainable_variables)
    loss_of = keras.losses.BinaryCrossentropy(from_logits=True)

    @tf.function
    def train(dataset):
        loss = 0.0
        for words, labels in dataset:
            features = tf.reduce_mean(tf.nn.embedding_lookup(vectors, words), axis=1)
            with tf.GradientTape() as tape:
                loss = loss_of(labels, head(features, training=True))
            gradients = tape.gradient(loss, head.trainable_variables)
            optimizer.apply_gradients(
                zip(gradients, head.trainable_variables, strict=True)
            )
        return loss

    for epoch in range(40):
        print(f"epoch {epoch}: loss {float(train(dataset)):.3f}")


if __name__ == "__main__":
    main()
