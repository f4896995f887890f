"""Claim: the TensorFlow engine is 20 times the way of TensorFlow's own tutorial.

    python benchmarks/tutorial.py --corpus FILE [--words N] [--rounds N] [--json OUT]

Both train skip-gram vectors on the first N words of the same text, one epoch, the
same dimension, window, negatives and rarest word, each in a process of its own,
timed from the start of the process to vectors in memory: imports, reading, pairs,
tracing, training. `after imports` leaves out what a process takes to import
TensorFlow, which both must and which does not grow with the text.

The peer does as the word2vec tutorial on tensorflow.org does: every sentence is
turned into pairs by `skipgrams` in Python, negatives are drawn for each pair by
`tf.random.log_uniform_candidate_sampler`, pairs go into a Dataset (shuffled,
batches of 1,024, cached, prefetched), and a Keras model of two embeddings is trained
by `fit` with Adam. It differs from the tutorial where that would not do the same
work: whole lines and all frequent enough words are used, not 10 words of a line
and 4,096 in all, frequent words are thinned out above 0.001, not 0.00001, and one
epoch is made, not 20.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DIM, WINDOW, NEGATIVE, MIN_COUNT, SAMPLE = 100, 5, 5, 5, 1e-3


def tutorial(corpus):
    import tensorflow as tf

    counts = {}
    with open(corpus, encoding="utf-8") as file:
        for line in file:
            for word in line.split():
                counts[word] = counts.get(word, 0) + 1
    known = [word for word, count in counts.items() if count >= MIN_COUNT]
    known.sort(key=lambda word: -counts[word])
    layer = tf.keras.layers.TextVectorization(standardize=None, vocabulary=known)
    size = layer.vocabulary_size()
    lines = tf.data.TextLineDataset(corpus).batch(1024).prefetch(tf.data.AUTOTUNE)
    sequences = [
        [int(word) for word in row if word > 1]
        for batch in lines.map(layer).as_numpy_iterator()
        for row in batch
    ]
    targets, contexts, labels = training_data(sequences, size)
    dataset = tf.data.Dataset.from_tensor_slices(((targets, contexts), labels))
    dataset = dataset.shuffle(10_000).batch(1024, drop_remainder=True)
    dataset = dataset.cache().prefetch(tf.data.AUTOTUNE)

    class Word2Vec(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.target = tf.keras.layers.Embedding(size, DIM)
            self.context = tf.keras.layers.Embedding(size, DIM)

        def call(self, pair):
            target, context = pair
            words = self.target(target)
            return tf.einsum("be,bce->bc", words, self.context(context))

    model = Word2Vec()
    loss = tf.keras.losses.CategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])
    model.fit(dataset, epochs=1, verbose=0)
    return model.target.get_weights()[0]


def training_data(sequences, size):
    """Pairs, and for each its negatives, one after the other."""
    import numpy as np
    import tensorflow as tf

    prepare = tf.keras.preprocessing.sequence
    table = prepare.make_sampling_table(size, sampling_factor=SAMPLE)
    targets, contexts, labels = [], [], []
    for sequence in sequences:
        pairs, _ = prepare.skipgrams(
            sequence,
            vocabulary_size=size,
            sampling_table=table,
            window_size=WINDOW,
            negative_samples=0,
        )
        for target, context in pairs:
            seen = tf.expand_dims(tf.constant([context], dtype="int64"), 1)
            negatives, _, _ = tf.random.log_uniform_candidate_sampler(
                true_classes=seen,
                num_true=1,
                num_sampled=NEGATIVE,
                unique=True,
                range_max=size,
            )
            both = tf.concat([tf.squeeze(seen, 1), negatives], 0)
            targets.append(target)
            contexts.append(both)
            labels.append(tf.constant([1] + [0] * NEGATIVE, dtype="int64"))
    return np.array(targets), np.array(contexts), np.array(labels)


def feedline(corpus, engine="tensorflow"):
    from feedline import words

    vectors = words.train(
        corpus,
        dim=DIM,
        window=WINDOW,
        negative=NEGATIVE,
        min_count=MIN_COUNT,
        sample=SAMPLE,
        epochs=1,
        engine=engine,
    )
    return vectors.matrix


RUN = {
    "tutorial": tutorial,
    "tensorflow": feedline,
    "cpu": lambda corpus: feedline(corpus, "cpu"),
}


def seconds(who, corpus):
    command = [sys.executable, __file__, "--child", who, "--corpus", str(corpus)]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    whole = time.perf_counter() - start
    return whole, float(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--words", type=int, default=90_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", choices=RUN, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        if arguments.child != "cpu":
            import tensorflow  # noqa: F401
        start = time.perf_counter()
        RUN[arguments.child](arguments.corpus)
        print(time.perf_counter() - start)
        return
    with tempfile.TemporaryDirectory() as folder:
        part, taken = Path(folder) / "part.txt", 0
        with open(arguments.corpus) as source, part.open("w") as target:
            for line in source:
                target.write(line)
                taken += len(line.split())
                if taken >= arguments.words:
                    break
        found = {who: [] for who in RUN}
        for _ in range(arguments.rounds):
            for who, times in found.items():
                times.append(seconds(who, part))
    print(f"{taken:,} words, one epoch, {os.cpu_count()} cores, whole processes")
    print(f"{'':10} {'whole':>8} {'':>8} {'after imports':>16}")
    for who, times in found.items():
        shown = []
        for part in (0, 1):
            mine = [one[part] for one in times]
            pairs = zip(found["tutorial"], times, strict=True)
            ratio = statistics.median(a[part] / b[part] for a, b in pairs)
            shown.append(f"{statistics.median(mine):8.1f} s {ratio:6.1f} x")
        print(f"{who:10} {'   '.join(shown)}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"words": taken, **found}, indent=1))


if __name__ == "__main__":
    main()
