"""An embedding classifier that tokenises its text in Python, inside the pipeline.

What is wrong: `encode` is Python, called through `tf.py_function` once for every
sentence. Only one thread can run Python at a time, so the parallel calls asked
for below wait for each other, and the model waits for them all. The same work
written with `tf.strings` runs outside Python, a whole batch at a time.

Cause: python-in-pipeline
Bound: input
"""

import re

import keras
import numpy as np
import tensorflow as tf

SENTENCES = 20_000
LENGTH = 20
WORDS = 1_000

rng = np.random.default_rng(0)
words = np.array([f"word{number}" for number in range(2, WORDS)])
chosen = words[rng.integers(0, len(words), size=(SENTENCES, LENGTH))]
sentences = [" ".join(row).capitalize() + "!" for row in chosen]
labels = rng.integers(0, 2, size=(SENTENCES, 1))
number_of = {word: number for number, word in enumerate(words, start=2)}


def encode(text):
    tokens = re.findall(r"[a-z]+[0-9]*", text.numpy().decode().lower())
    numbers = [number_of.get(token, 1) for token in tokens[:LENGTH]]
    return np.array(numbers + [0] * (LENGTH - len(numbers)), dtype=np.int64)


def preprocess(text, label):
    numbers = tf.py_function(encode, [text], tf.int64)
    numbers.set_shape([LENGTH])
    return numbers, label


dataset = tf.data.Dataset.from_tensor_slices((sentences, labels))
dataset = dataset.shuffle(1_000)
dataset = dataset.map(preprocess, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(128).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [
        keras.layers.Embedding(WORDS, 100),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(dataset, epochs=6, verbose=2)
