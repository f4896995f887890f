"""Claim: with row-sparse updates a step costs what a batch touches, whatever the
vocabulary.

    python benchmarks/embedding_updates.py [--quick] [--json FILE]

The classifier of examples/embedding_large_vocabulary.py (batches of 128 sentences
of 20 tokens, dimension 100, words drawn by Zipf's law) over 1,000, 100,000 and
500,000 words, with Adam (lazy: grade numeric) and with SGD (grade exact). For each
optimizer all six models are in memory together, Keras' own and by rows at each
size, and take turns of a few steps, so that whatever disturbs the machine
disturbs all alike. A turn is timed from its first call to the last loss being in
Python; a model's step is the median of its turns, a ratio the median of those of
the rounds, with its 95 % interval.

Targets: by rows, the step at 100,000 and 500,000 words takes at most 1.5 times
Keras' own at 1,000, and at 500,000 it is at least 50 times as fast as Keras' own.

With SGD the weights after twenty steps are compared too, after the timing and with
`enable_op_determinism`: they must be the same bits. Without that TensorFlow adds up
the gradients of a word that a batch names often in any order, on several threads,
and Keras' own weights differ from run to run in the last bit.

Exit code 0 whether reached or not: the table says which.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from pathlib import Path

SIZES = (1_000, 100_000, 500_000)
BATCH, LENGTH, WIDTH = 128, 20, 100
WITHIN, FASTER = 1.5, 50.0
GRADES = {"adam": "numeric", "sgd": "exact"}


def build(words: int, optimizer: str, by_rows: bool):
    """The model, and the iterator that feeds it: ready batches, the same for both."""
    import keras
    import numpy as np
    import tensorflow as tf

    from feedline.rows import install

    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.layers.Embedding(words, WIDTH),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer=optimizer, loss="binary_crossentropy", metrics=["accuracy"])
    if by_rows:
        installed = install(model, lazy=GRADES[optimizer] != "exact")
        assert installed.exact == (GRADES[optimizer] == "exact")
    rng = np.random.default_rng(0)
    rows = 40 * BATCH
    ids = np.minimum(rng.zipf(1.3, (rows, LENGTH)), words) - 1
    labels = rng.integers(0, 2, (rows, 1))
    data = tf.data.Dataset.from_tensor_slices((ids, labels)).batch(BATCH)
    model.fit(data.take(3), verbose=0)
    return model, iter(data.cache().repeat().prefetch(4))


def turn(model, batches, steps: int) -> float:
    """Seconds per step of a turn, as `fit` makes its steps."""
    begin = time.perf_counter()
    for _ in range(steps):
        logs = model.train_function(batches)
    for value in logs.values():
        value.numpy()
    return (time.perf_counter() - begin) / steps


def measure(optimizer: str, sizes: tuple[int, ...], rounds: int, steps: int) -> dict:
    models = {
        (words, by_rows): build(words, optimizer, by_rows)
        for words in sizes
        for by_rows in (False, True)
    }
    times: dict[tuple[int, bool], list[float]] = {key: [] for key in models}
    for number in range(rounds + 1):
        for key, (model, batches) in models.items():
            seconds = turn(model, batches, steps)
            if number:  # The first round warms up.
                times[key].append(seconds)
    smallest = times[sizes[0], False]
    return {
        "optimizer": optimizer,
        "grade": GRADES[optimizer],
        "sizes": [
            {
                "words": words,
                "before_ms": 1e3 * statistics.median(times[words, False]),
                "after_ms": 1e3 * statistics.median(times[words, True]),
                "faster": ratio(times[words, False], times[words, True]),
                "of_smallest": ratio(times[words, True], smallest),
                "of_smallest_by_rows": ratio(times[words, True], times[sizes[0], True]),
            }
            for words in sizes
        ],
    }


def same_weights(optimizer: str, words: int) -> bool:
    """Whether both models have the same weights after the same steps."""
    models = [build(words, optimizer, by_rows) for by_rows in (False, True)]
    for model, batches in models:
        turn(model, batches, 20)
    pairs = zip(*(model.get_weights() for model, _ in models), strict=True)
    return all((a == b).all() for a, b in pairs)


def ratio(above: list[float], below: list[float]) -> dict:
    """The median of the rounds' ratios, and its 95 % interval by the bootstrap."""
    ratios = [a / b for a, b in zip(above, below, strict=True)]
    draw = random.Random(0)
    medians = sorted(
        statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(2000)
    )
    return {
        "median": statistics.median(ratios),
        "interval": [medians[50], medians[-51]],
    }


def targets(result: dict) -> list[tuple[str, bool]]:
    """Each target, in words, and whether it was reached."""
    name, checks = result["optimizer"], []
    first, largest = result["sizes"][0], result["sizes"][-1]
    for size in result["sizes"][1:]:
        value = size["of_smallest"]["median"]
        text = (
            f"{name}, {size['words']:,} words by rows: {value:.2f} x Keras' own "
            f"step at {first['words']:,} (at most {WITHIN} x)"
        )
        checks.append((text, value <= WITHIN))
    value = largest["faster"]["median"]
    text = (
        f"{name}, {largest['words']:,} words: {value:.1f} x as fast as Keras' own "
        f"(at least {FASTER:.0f} x)"
    )
    checks.append((text, value >= FASTER))
    return checks


def show(result: dict) -> None:
    print(f"{result['optimizer']} ({result['grade']})")
    print(
        f"{'words':>9} {'Keras':>11} {'by rows':>10} {'faster':>9}  {'interval':>16}"
        f"  {'of Keras at 1st':>15}"
    )
    for size in result["sizes"]:
        low, high = size["faster"]["interval"]
        print(
            f"{size['words']:>9,} {size['before_ms']:>8.2f} ms"
            f" {size['after_ms']:>7.2f} ms {size['faster']['median']:>7.1f} x"
            f"  {low:>6.1f} to {high:>5.1f} {size['of_smallest']['median']:>14.2f} x"
        )
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    asked = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

    import keras
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")  # Many models are many traces: it would warn.
    print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}", end=", ")
    print(f"{len(os.sched_getaffinity(0))} cores; batch {BATCH} x {LENGTH}", end=", ")
    print(f"dimension {WIDTH}\n")
    rounds, steps = (6, 3) if asked.quick else (20, 5)
    results, checks = [], []
    for optimizer in GRADES:
        result = measure(optimizer, SIZES, rounds, steps)
        show(result)
        results.append(result)
        checks += targets(result)
        keras.backend.clear_session()
    tf.config.experimental.enable_op_determinism()
    same = [same_weights("sgd", words) for words in SIZES]
    checks.append(("sgd: the same weights, bit for bit, at every size", all(same)))
    for text, reached in checks:
        print(f"{'reached' if reached else 'NOT reached':>11}: {text}")
    if asked.json:
        numbers = {
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
            "results": results,
            "targets": [{"text": text, "reached": ok} for text, ok in checks],
        }
        asked.json.write_text(json.dumps(numbers, indent=2) + "\n")


if __name__ == "__main__":
    main()
