"""Claim: words are counted faster than by anything else installed here.

    python benchmarks/counting.py --corpus FILE [--repeat 10] [--rounds 5]

Every contestant counts the words of the same file, lines as they are, words as
spaces separate them, each in a process of its own, which imports and warms up
before the clock starts. Rounds are interleaved: all of them once, then all again,
so that whatever disturbs the machine disturbs all alike; the ratio is taken round
by round. "MB/s CPU" is by the time of all cores together, which a busy machine
disturbs less. Memory is the process's peak, beyond what it had before it began.

`feedline: encode too` is the whole of `prepare`: counting, choosing the
vocabulary, and every word's id written to shards. The others only count.

DuckDB, polars, pyarrow and gensim take part where they are installed. `--repeat`
makes a larger file of the corpus, in a temporary directory.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Result = tuple[int, int]  # distinct words, tokens


# --------------------------------------------------------------- contestants


def feedline(path: Path) -> Result:
    from feedline.words.text.corpus import Corpus

    counted = Corpus.of(path).count()
    return len(counted.table), counted.tokens


def feedline_encode(path: Path) -> Result:
    from feedline.words.text.corpus import Corpus, prepare

    with tempfile.TemporaryDirectory(dir=path.parent) as cache:
        vocabulary, shards = prepare(Corpus.of(path), Path(cache), min_count=5)
        return shards.facts["distinct_words"], vocabulary.raw_tokens


def duckdb(path: Path) -> Result:
    import duckdb

    rows = duckdb.execute(
        "SELECT count(*), sum(n)::BIGINT FROM (SELECT word, count(*) AS n FROM ("
        "SELECT unnest(string_split(line, ' ')) AS word FROM read_csv(?, header=false,"
        " columns={'line': 'VARCHAR'}, delim='\x01', quote='', escape='',"
        " max_line_size=100000000)) WHERE word <> '' GROUP BY word)",
        [str(path)],
    ).fetchall()
    return rows[0]


def polars(path: Path) -> Result:
    import polars as pl

    words = (
        pl.scan_csv(
            path,
            has_header=False,
            separator="\x01",
            quote_char=None,
            schema={"line": pl.String},
        )
        .select(pl.col("line").str.split(" ").explode().alias("word"))
        .filter(pl.col("word") != "")
        .group_by("word")
        .len()
        .collect(engine="streaming")
    )
    return words.height, int(words["len"].sum())


def pyarrow(path: Path) -> Result:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    reader = csv.open_csv(
        path,
        read_options=csv.ReadOptions(column_names=["line"], block_size=1 << 24),
        parse_options=csv.ParseOptions(delimiter="\x01", quote_char=False),
    )
    counts: pa.Table | None = None
    for batch in reader:
        words = pc.list_flatten(pc.ascii_split_whitespace(batch["line"]))
        found = pc.value_counts(words)
        part = pa.table({"word": found.field(0), "n": found.field(1)})
        both = part if counts is None else pa.concat_tables([counts, part])
        counts = both.group_by("word").aggregate([("n", "sum")])
        counts = counts.rename_columns(["word", "n"])
    counts = counts.filter(pc.not_equal(counts["word"], ""))
    return counts.num_rows, pc.sum(counts["n"]).as_py()


def gensim(path: Path) -> Result:
    from gensim.models import Word2Vec

    model = Word2Vec(min_count=1)
    tokens, _ = model.scan_vocab(corpus_file=str(path), progress_per=10**9)
    return len(model.raw_vocab), tokens


CONTESTANTS: dict[str, tuple[Callable[[Path], Result], str]] = {
    "feedline": (feedline, "feedline"),
    "feedline: encode too": (feedline_encode, "feedline"),
    "DuckDB": (duckdb, "duckdb"),
    "polars": (polars, "polars"),
    "pyarrow": (pyarrow, "pyarrow"),
    "gensim": (gensim, "gensim"),
}


# --------------------------------------------------------------- the contest


def run_one(name: str, path: Path) -> None:
    """Warm up, count, and print what it took; in a process of its own."""
    count = CONTESTANTS[name][0]
    with tempfile.TemporaryDirectory() as place:
        small = Path(place) / "small.txt"
        small.write_text("to be or not to be that is the question\n" * 1000)
        count(small)
    before = peak_mb()
    start, start_cpu = time.perf_counter(), time.process_time()
    words, tokens = count(path)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    print(json.dumps([seconds, cpu, peak_mb() - before, words, tokens]))


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def measured(name: str, path: Path) -> list[float] | None:
    done = subprocess.run(
        [sys.executable, __file__, "--one", name, "--corpus", str(path)],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        print(f"{name} failed: {last[0]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def contest(path: Path, names: list[str], rounds: int) -> bool:
    from feedline.measure.experiment import estimate

    size = path.stat().st_size / 1e6
    results: dict[str, list[list[float]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            found = measured(name, path)
            if found is None:
                results.pop(name, None)
            elif name in results:
                results[name].append(found)
        names = [name for name in names if name in results]
    print(
        f"{'':<22}{'MB/s':>6}{'MB/s CPU':>10}{'memory':>10}{'words':>11}"
        "   feedline is faster"
    )
    agreed = {tuple(found[0][3:]) for found in results.values()}
    if len(agreed) > 1:
        print(f"They do not agree on words and tokens: {sorted(agreed)}")
    ours = [found[0] for found in results["feedline"]]
    ahead = True
    for name in names:
        seconds = [found[0] for found in results[name]]
        ratio = estimate([a / b for a, b in zip(seconds, ours, strict=True)])
        cpu = statistics.median(found[1] for found in results[name])
        memory = statistics.median(found[2] for found in results[name])
        ahead = ahead and (name.startswith("feedline") or ratio.low > 1)
        print(
            f"{name:<22}{size / statistics.median(seconds):>6.0f}{size / cpu:>10.0f}"
            f"{memory:>7.0f} MB{results[name][0][3]:>11,.0f}"
            f"   {ratio.value:.2f} x, {ratio.low:.2f} to {ratio.high:.2f}",
            flush=True,
        )
    return ahead


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="a file of text")
    parser.add_argument("--repeat", type=int, default=1, help="the file so many times")
    parser.add_argument("--rounds", type=int, default=5, help="of all contestants")
    parser.add_argument("--only", help="contestants, with commas between")
    parser.add_argument("--scratch", type=Path, help="where the larger file is made")
    parser.add_argument("--one", choices=CONTESTANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_one(options.one, options.corpus)
        return

    from feedline.measure.machine import look

    machine = look()
    names = [
        name
        for name, (_, module) in CONTESTANTS.items()
        if importlib.util.find_spec(module) is not None
    ]
    if options.only:
        chosen = [*options.only.split(","), "feedline"]
        names = [name for name in names if name in chosen]
    with tempfile.TemporaryDirectory(dir=options.scratch) as place:
        path = options.corpus
        if options.repeat > 1:
            path = Path(place) / "corpus.txt"
            with path.open("wb") as file:
                for _ in range(options.repeat):
                    file.write(options.corpus.read_bytes())
        print(
            f"Counting the words of {path.stat().st_size / 1e6:,.0f} MB, "
            f"{options.rounds} rounds"
        )
        print(f"Machine: {machine.cores} cores, {machine.memory_gb:.0f} GB\n")
        ahead = contest(path, names, options.rounds)
    print(f"\nThe claim, faster than all, {'holds' if ahead else 'does not hold'}.")


if __name__ == "__main__":
    main()
