"""Claim: word vectors are trained faster here than by anything else, and as well.

    python benchmarks/words.py --corpus FILE [--quick] [--only skipgram,cbow]
                               [--rounds N] [--epochs N] [--seeds N] [--json OUT]
                               [--engine tensorflow] [--first SEED] [--who tf]

The same text, the same options, the same number of threads for all: gensim
(corpus_file, its fastest mode), fastText from PyPI, and feedline. Every run is a
process of its own, so that memory is its own, and the contenders take turns, so
that whatever disturbs the machine disturbs all alike. A ratio is taken round by
round; the table has its median, and the lowest and the highest.

    train      raw words per second of training alone: no reading, no counting
    whole      seconds from the text to saved vectors
    memory     the most that the process held, less what it held after its imports
    quality    analogies in %, WordSim-353 and SimLex-999 (Spearman), restricted to
               30,000 words; the files are gensim's

With `--engine tensorflow` that engine runs beside the others, as `tf`, and ratios are
its own. A training of several rounds may be done in parts: `--first` is the seed of
the first round.

Learning rates. gensim's corpus_file mode has each worker compare its own progress
with the whole corpus, so with two workers the rate falls only half of the way in an
epoch, and jumps to the other half when the epoch ends. Its first, last and mean rate
are then those of feedline's default, a straight line from alpha to
alpha / (2 epochs), and so neither is favoured. fastText's rate falls to 0.

GloVe's C code is not on PyPI. Its figure, 567 s for 15 passes over 27 million
co-occurrences on the machine where gensim's skip-gram made 276,000 words a second,
is scaled by the gensim of this run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ALPHA, MIN_ALPHA = 0.025, 1e-4
GLOVE_C = 27e6 * 15 / 567
GENSIM_THEN = 276_000

# What each contender does, by case: the first is the one to compare with.
CASES = {
    "skipgram": (["gensim", "fasttext", "feedline"], {}),
    "cbow": (["gensim", "feedline"], {"model": "cbow", "alpha": 0.05}),
    "tree": (["gensim", "feedline"], {"loss": "hs"}),
    "subwords": (["fasttext", "feedline"], {"min_n": 3, "max_n": 6}),
    "dim300": (["gensim", "feedline"], {"dim": 300}),
    "glove": (["feedline"], {"model": "glove", "epochs": 15}),
    "one thread": (["feedline"], {"threads": 1}),
}


def held() -> float:
    """The most memory this process has held so far, in MB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


# ---------------------------------------------------------------- the contenders


def run_gensim(corpus, out, options):
    from gensim.models import Word2Vec

    from feedline.words import Vectors

    before, began = held(), time.perf_counter()
    tree = options["loss"] == "hs"
    model = Word2Vec(
        vector_size=options["dim"],
        window=options["window"],
        negative=0 if tree else options["negative"],
        hs=int(tree),
        sample=options["sample"],
        sg=int(options["model"] == "skipgram"),
        alpha=options["alpha"],
        min_alpha=MIN_ALPHA,
        min_count=5,
        workers=options["threads"],
        epochs=options["epochs"],
        seed=options["seed"],
    )
    model.build_vocab(corpus_file=corpus)
    start = time.perf_counter()
    model.train(
        corpus_file=corpus,
        total_examples=model.corpus_count,
        total_words=model.corpus_total_words,
        epochs=options["epochs"],
    )
    trained = time.perf_counter() - start
    model.wv.save(os.path.join(out, "vectors"))
    whole = time.perf_counter() - began
    words = model.corpus_total_words * options["epochs"]
    return words / trained, whole, held() - before, Vectors.from_gensim(model.wv)


def run_fasttext(corpus, out, options):
    import fasttext
    import numpy as np

    from feedline.words import Vectors

    reading = 0.0
    if options["epochs"]:
        # Without epochs it reads and counts alone; that is then taken off. In a
        # process of its own, as a second training in one fails with NaN.
        alone = {**options, "epochs": 0, "quality": False}
        reading = run("fasttext", corpus, alone)["whole"]
    before, start = held(), time.perf_counter()
    model = fasttext.train_unsupervised(
        corpus,
        model=options["model"],
        lr=options["alpha"],
        dim=options["dim"],
        ws=options["window"],
        neg=options["negative"],
        t=options["sample"],
        epoch=options["epochs"],
        minCount=5,
        minn=options["min_n"],
        maxn=options["max_n"],
        thread=options["threads"],
        loss=options["loss"],
        verbose=0,
    )
    took, memory = time.perf_counter() - start, held() - before
    if not options["epochs"]:
        return 0.0, took, memory, None
    start = time.perf_counter()
    model.save_model(os.path.join(out, "vectors.bin"))
    whole = took + time.perf_counter() - start
    speed = options["raw_words"] * options["epochs"] / (took - reading)
    kept = [word for word in model.get_words() if word != "</s>"]
    matrix = np.array([model.get_word_vector(word) for word in kept], np.float32)
    return speed, whole, memory, Vectors(tuple(kept), matrix)


def run_feedline(corpus, out, options):
    from feedline import words
    from feedline.words.engine import engine
    from feedline.words.engine.config import Config

    others = {"raw_words", "quality"}
    chosen = {name: value for name, value in options.items() if name not in others}
    if options["model"] == "glove":
        del chosen["alpha"]
    # Compiled once on a machine, not once in a run: not counted. TensorFlow traces
    # its step in every run, which is.
    plain = {name: value for name, value in chosen.items() if name != "engine"}
    engine("cpu").warm_up(Config.of(**plain))
    if "engine" in chosen:
        engine(chosen["engine"])
    before, began = held(), time.perf_counter()
    vectors = words.train(corpus, out=os.path.join(out, "vectors"), **chosen)
    whole, memory = time.perf_counter() - began, held() - before
    speed = vectors.config["words_per_second"]
    if options["model"] == "glove":
        folder = Path(out) / "vectors" / "cooccurrences"
        records = (folder / "logs.f4").stat().st_size // 4
        # Both directions, as GloVe counts; a word beside itself is one in a thousand.
        seconds = vectors.config["train_seconds"]
        speed = 2 * records * options["epochs"] / seconds
    return speed, whole, memory, vectors


def run_tf(corpus, out, options):
    return run_feedline(corpus, out, {**options, "engine": "tensorflow"})


RUN = {
    "gensim": run_gensim,
    "fasttext": run_fasttext,
    "feedline": run_feedline,
    "tf": run_tf,
}


def child(who, corpus, options):
    """One run in this process; its figures as a line of JSON."""
    with tempfile.TemporaryDirectory() as out:
        speed, whole, memory, vectors = RUN[who](corpus, out, options)
        answer = {"speed": speed, "whole": whole, "memory": memory}
        if options["quality"]:
            answer["quality"] = quality(vectors)
    print(json.dumps(answer))


def quality(vectors):
    from gensim.test.utils import datapath

    from feedline import words

    found = words.evaluate(
        vectors,
        datapath("questions-words.txt"),
        [datapath("wordsim353.tsv"), datapath("simlex999.txt")],
        restrict=30_000,
    )
    pairs = [each.spearman for each in found.pairs]
    return [100 * found.analogies.accuracy, *pairs]


# --------------------------------------------------------------------- the rounds


def run(who, corpus, options):
    command = [sys.executable, __file__, "--child", who, "--corpus", corpus]
    done = subprocess.run(
        [*command, "--options", json.dumps(options)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def measure(name, arguments, raw_words):
    """All rounds of a case: figures by contender."""
    contenders, special = CASES[name]
    if arguments.engine == "tensorflow":
        contenders = [*contenders, "tf"]
    contenders = [who for who in contenders if who in arguments.who.split(",")]
    options = {
        "model": "skipgram",
        "loss": "ns",
        "dim": 100,
        "window": 5,
        "negative": 5,
        "sample": 1e-3,
        "alpha": ALPHA,
        "min_n": 0,
        "max_n": 0,
        "epochs": arguments.epochs,
        "threads": arguments.threads,
        "raw_words": raw_words,
        **special,
    }
    if name == "glove" and arguments.quick:
        options["epochs"] = 2
    found = {who: [] for who in contenders}
    rounds = max(arguments.rounds, arguments.seeds)
    for number in range(rounds):
        for who in contenders:
            mine = {**options, "seed": number + arguments.first}
            mine["quality"] = number < arguments.seeds and name != "one thread"
            print(f"{name}, round {number + 1}: {who}", file=sys.stderr, flush=True)
            found[who].append(run(who, arguments.corpus, mine))
    return found


def ratios(mine, theirs, field="speed"):
    pairs = zip(mine, theirs, strict=True)
    if field == "whole":
        return [b[field] / a[field] for a, b in pairs]
    return [a[field] / b[field] for a, b in pairs]


def spread(values):
    middle = statistics.median(values)
    return f"{middle:5.1f} x ({min(values):.1f} to {max(values):.1f})"


def table(name, found):
    """The rows of a case."""
    lines = []
    for who, rounds in found.items():
        speed = statistics.median(each["speed"] for each in rounds)
        whole = statistics.median(each["whole"] for each in rounds)
        memory = statistics.median(each["memory"] for each in rounds)
        scores = [each["quality"] for each in rounds if "quality" in each]
        shown = ""
        if scores:
            means = [statistics.mean(column) for column in zip(*scores, strict=True)]
            shown = f"{means[0]:5.1f} % {means[1]:.3f} {means[2]:.3f}"
        lines.append(
            f"{name:10} {who:9} {speed:11,.0f} {whole:7.1f} s {memory:6,.0f} MB  "
            f"{shown}"
        )
    me = "tf" if "tf" in found else "feedline"
    mine = found.get(me, [])
    for who, theirs in found.items():
        if who != me and mine:
            lines.append(
                f"{'':10} {me} / {who:9} train {spread(ratios(mine, theirs))}, "
                f"whole {spread(ratios(mine, theirs, 'whole'))}"
            )
    return lines


def more(results):
    """What needs two cases."""
    lines = []
    skipgram, glove = results.get("skipgram"), results.get("glove")
    one = results.get("one thread")
    if skipgram and one:
        both = [
            a["speed"] / b["speed"]
            for a, b in zip(skipgram["feedline"], one["feedline"], strict=False)
        ]
        lines.append(f"two threads over one: {spread(both)}")
    if skipgram and glove:
        gensim = statistics.median(each["speed"] for each in skipgram["gensim"])
        there = GLOVE_C * gensim / GENSIM_THEN
        scaled = [each["speed"] / there for each in glove["feedline"]]
        lines.append(f"glove over the C code, scaled by gensim: {spread(scaled)}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3, help="rounds with quality")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--engine", default="cpu", choices=["cpu", "tensorflow"])
    parser.add_argument("--who", default=",".join(RUN), help="run these alone")
    parser.add_argument("--first", type=int, default=1, help="seed of round 1")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", choices=RUN, help=argparse.SUPPRESS)
    parser.add_argument("--options", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.corpus, json.loads(arguments.options))
        return
    if arguments.quick:
        arguments.rounds = arguments.seeds = 1
    with open(arguments.corpus, "rb") as file:
        raw_words = sum(len(line.split()) for line in file)
    names = arguments.only.split(",")
    unknown = [name for name in names if name not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]!r}; there are: {', '.join(CASES)}")
    print(
        f"{raw_words:,} words, {arguments.epochs} epochs, {arguments.threads} threads, "
        f"{os.cpu_count()} cores\n\n{'case':10} {'who':9} {'words/s':>11} "
        f"{'whole':>9} {'memory':>9}  analogies WordSim SimLex"
    )
    results = {}
    for name in names:
        results[name] = measure(name, arguments, raw_words)
        print("\n".join(table(name, results[name])), flush=True)
    print("\n".join(more(results)))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
