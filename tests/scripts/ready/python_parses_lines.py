"""A generator given to `fit` parses the same lines in every round."""

import hashlib

import keras
import numpy as np

keras.utils.set_random_seed(3)
LINES = 240
with open("rows.csv", "w") as file:
    for n in range(LINES):
        numbers = [f"{(n * k) % 97 / 97:.6f}" for k in range(400)]
        file.write(",".join(numbers) + f",{n % 3}\n")


def parsed(line):
    numbers = [float(each) for each in line.split(",")]
    return np.array(numbers[:-1], np.float32), int(numbers[-1])


def batches(path, size):
    while True:
        with open(path) as file:
            rows, labels = [], []
            for line in file:
                row, label = parsed(line)
                rows.append(row)
                labels.append(label)
                if len(rows) == size:
                    yield np.stack(rows), np.array(labels)
                    rows, labels = [], []


model = keras.Sequential([keras.Input((400,)), keras.layers.Dense(3, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(
    batches("rows.csv", 8), steps_per_epoch=LINES // 8, epochs=12, verbose=0
)
weights = b"".join(np.asarray(each).tobytes() for each in model.get_weights())
print("weights", hashlib.sha256(weights).hexdigest())
print(history.history)
