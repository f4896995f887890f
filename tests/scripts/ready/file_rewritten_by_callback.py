"""A text file that a callback rewrites after each epoch, read again by the next."""

import hashlib

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(1)


def digest(what, values):
    data = b"".join(np.asarray(value).tobytes() for value in values)
    print(what, hashlib.sha256(data).hexdigest()[:16])


rng = np.random.default_rng(0)


def write(epoch):
    with open("numbers.csv", "w") as file:
        for _ in range(600):
            row = rng.standard_normal(6) + epoch
            print(",".join(f"{value:.4f}" for value in row), file=file)


def parse(line):
    for _ in range(200):
        line = tf.strings.regex_replace(line, r"\s+", "")
    row = tf.stack(tf.io.decode_csv(line, [0.0] * 6))
    return row[:5], row[5:]


write(0)
rewrite = keras.callbacks.LambdaCallback(on_epoch_end=lambda n, logs: write(n + 1))
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
lines = tf.data.TextLineDataset("numbers.csv")
lines = lines.apply(tf.data.experimental.assert_cardinality(600))
train = lines.map(parse).shuffle(20).batch(20)
# tune: train = feedline.tune(train, model=model, seconds=6)
print(model.fit(train, epochs=10, callbacks=[rewrite], verbose=0).history)
print(float(sum(tf.reduce_sum(x) for x, _ in train)))
digest("weights", model.variables)
digest("optimizer", model.optimizer.variables)
