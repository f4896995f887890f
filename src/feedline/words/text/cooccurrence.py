"""Counts how often words stand near each other, in bounded memory.

Each two words of a sentence at most `window` apart add 1 / distance, in either
order. Pairs of the most frequent words are counted in a square table; all others
in a hash table, which is sorted and written to disk as a run whenever it is full.
The runs are then merged range by range, and the records dealt out to blocks:

    cooccurrences/
      manifest.json    what it was made from, and the sizes
      pairs.i4         two words, the lower id first
      logs.f4          the logarithm of their count

Every block is a random draw from all records, so blocks are alike; inside a block
the records stay sorted, so that a word's row is still in the cache when it is used
again.
"""

from __future__ import annotations

import itertools
import json
import shutil
import threading
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedline.errors import TrainingError
from feedline.files.whole import put_folder
from feedline.words.text.spans import Span

Progress = Callable[[str, int, int | None], None]

FOLDER = "cooccurrences"
FORMAT = 1
BLOCK = 1 << 16
"""Records of a block, on average."""
MEMORY = 256 << 20
"""Bytes that counting may take."""

_DENSE = 2048  # words of the square table
_SLOT = 12  # bytes of a place in the hash table
_STEP = 1 << 20
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True, eq=False)
class Cooccurrences:
    """Records on disk, in blocks."""

    pairs: NDArray[np.int32]
    logs: NDArray[np.float32]
    starts: NDArray[np.int64]
    """Where each block begins, and the end."""


@njit(nogil=True, cache=True)
def _count(
    tokens: Any,
    at: Any,
    window: Any,
    dense: Any,
    side: Any,
    keys: Any,
    sums: Any,
    taken: Any,
) -> Any:
    """Count on from `at` until the table is full: where it stopped, and how many
    places are now taken. What lies before `at` is context only."""
    mask = np.uint64(keys.size - 1)
    limit = keys.size * 7 // 10 - window
    while at < tokens.size and taken < limit:
        word = np.int64(tokens[at])
        back = at - 1
        while word >= 0 and back >= 0 and at - back <= window:
            other = np.int64(tokens[back])
            if other < 0:
                break
            low, high = min(word, other), max(word, other)
            share = 1.0 / (at - back)
            if low == high:
                share *= 2.0
            if high < side:
                dense[low * side + high] += share
            else:
                key = (np.uint64(low) << np.uint64(32)) | np.uint64(high)
                place = (key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
                place &= mask
                while keys[place] != key and keys[place] != _EMPTY:
                    place = (place + np.uint64(1)) & mask
                if keys[place] == _EMPTY:
                    keys[place] = key
                    taken += 1
                sums[place] += np.float32(share)
            back -= 1
        at += 1
    return at, taken


class _Counter:
    """One thread's tables, and the runs that it wrote."""

    def __init__(self, folder: Path, number: int, side: int, slots: int) -> None:
        self.folder, self.number = folder, number
        self.dense = np.zeros(side * side, np.float64)
        self.side = side
        self.keys = np.full(slots, _EMPTY, np.uint64)
        self.sums = np.zeros(slots, np.float32)
        self.taken = 0
        self.runs: list[tuple[NDArray[np.uint64], NDArray[np.float32]]] = []

    def add(self, tokens: NDArray[np.int32], window: int) -> None:
        at = 0
        while at < len(tokens):
            at, self.taken = _count(
                tokens,
                at,
                window,
                self.dense,
                self.side,
                self.keys,
                self.sums,
                self.taken,
            )
            if at < len(tokens):
                self.flush()

    def flush(self) -> None:
        """Write what was counted as a run, sorted, and start anew."""
        full = np.flatnonzero(self.keys != _EMPTY)
        full = full[np.argsort(self.keys[full])]
        if len(full):
            name = f"run-{self.number}-{len(self.runs)}"
            paths = self.folder / f"{name}.keys", self.folder / f"{name}.sums"
            self.keys[full].tofile(paths[0])
            self.sums[full].tofile(paths[1])
            self.runs.append(
                (
                    np.memmap(paths[0], np.uint64, "r"),
                    np.memmap(paths[1], np.float32, "r"),
                )
            )
        self.keys[:] = _EMPTY
        self.sums[:] = 0.0
        self.taken = 0


def count(
    arrays: Sequence[NDArray[np.int32]],
    spans: Sequence[Span],
    words: int,
    window: int,
    folder: Path,
    *,
    threads: int,
    seed: int,
    memory: int = MEMORY,
    source: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Cooccurrences:
    """Count, merge and deal out; or take what an earlier run left, if the same."""
    final = folder / FOLDER
    wanted = {"format": FORMAT, "window": window, "seed": seed, "source": source}
    if source is not None and (found := _reopen(final, wanted)) is not None:
        return found
    work = folder / f".{FOLDER}.part"
    try:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        counters = _count_all(
            arrays, spans, words, window, work, threads, memory, progress
        )
        kept = _merge(counters, work, progress)
        starts = _deal(kept, work, seed, progress)
        for path in [*work.glob("run-*"), *work.glob("sorted.*")]:
            path.unlink()
        body = {**wanted, "records": kept, "starts": starts.tolist()}
        body["check"] = zlib.crc32(json.dumps(body, sort_keys=True).encode())
        (work / "manifest.json").write_text(json.dumps(body))
        put_folder(work, final)
    except OSError as error:
        raise TrainingError(
            f"co-occurrences cannot be written to {folder}: {error.strerror or error}. "
            "Free some space, or give another directory (cache)."
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return _open(final, starts)


def _count_all(
    arrays: Sequence[NDArray[np.int32]],
    spans: Sequence[Span],
    words: int,
    window: int,
    folder: Path,
    threads: int,
    memory: int,
    progress: Progress | None,
) -> list[_Counter]:
    side = min(_DENSE, words)
    share = max(1 << 20, memory // threads - 8 * side * side)
    slots = 1 << max(12, (share // _SLOT).bit_length() - 1)
    # A table much larger than the text would only be cleared and scanned in vain.
    tokens = sum(len(array) for array in arrays)
    slots = min(slots, 1 << max(12, (2 * tokens * window // threads).bit_length()))
    counters = [_Counter(folder, i, side, slots) for i in range(threads)]
    todo = iter(enumerate(spans))
    lock = threading.Lock()

    def work(counter: _Counter) -> None:
        while True:
            with lock:
                number, span = next(todo, (len(spans), None))
                if span is None:
                    break
                if progress is not None:
                    progress("cooccurrences", number + 1, len(spans))
            array, start, stop = span
            counter.add(np.asarray(arrays[array][start:stop]), window)
        counter.flush()

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, counters))
    return counters


def _merge(
    counters: list[_Counter],
    folder: Path,
    progress: Progress | None,
) -> int:
    """Merge the runs and the square table into one sorted list; its length."""
    side = counters[0].side
    dense = counters[0].dense
    for other in counters[1:]:
        dense += other.dense
    full = np.flatnonzero(dense)
    keys = ((full // side).astype(np.uint64) << np.uint64(32)) | (full % side).astype(
        np.uint64
    )
    runs: list[tuple[NDArray[np.uint64], NDArray[Any]]] = [(keys, dense[full])]
    for counter in counters:
        runs += counter.runs
        counter.keys, counter.sums = counter.keys[:0], counter.sums[:0]
    kept = 0
    bounds = _bounds([run for run, _ in runs])
    with (
        (folder / "sorted.pairs").open("wb") as pairs_file,
        (folder / "sorted.logs").open("wb") as logs_file,
    ):
        for number, (low, high) in enumerate(bounds):
            parts = []
            for run, values in runs:
                first = int(np.searchsorted(run, np.uint64(low)))
                last = int(np.searchsorted(run, np.uint64(high)))
                parts.append((run[first:last], values[first:last]))
            some = np.concatenate([part for part, _ in parts])
            values = np.concatenate([part.astype(np.float64) for _, part in parts])
            order = np.argsort(some, kind="stable")
            some, values = some[order], values[order]
            if len(some):
                new = np.flatnonzero(np.r_[True, some[1:] != some[:-1]])
                some, values = some[new], np.add.reduceat(values, new)
            both = np.empty((len(some), 2), np.int32)
            both[:, 0], both[:, 1] = some >> np.uint64(32), some & np.uint64(0xFFFFFFFF)
            both.tofile(pairs_file)
            np.log(values).astype(np.float32).tofile(logs_file)
            kept += len(some)
            if progress is not None:
                progress("merge", number + 1, len(bounds))
    if not kept:
        raise TrainingError(
            "no two words of the vocabulary stand in one sentence: GloVe has nothing "
            "to learn from. Give longer lines, or a smaller min_count."
        )
    return kept


def _bounds(runs: list[NDArray[np.uint64]]) -> list[tuple[int, int]]:
    """Ranges of keys with about `_STEP` records in each."""
    total = sum(len(run) for run in runs)
    pieces = -(-total // _STEP)
    every = max(1, total // (64 * pieces + 1))
    sample = np.sort(np.concatenate([np.asarray(run[::every]) for run in runs]))
    cuts = sample[np.linspace(0, len(sample) - 1, pieces + 1).astype(int)[1:-1]]
    edges = [0, *sorted({int(value) for value in cuts} - {0}), 2**64 - 1]
    return list(itertools.pairwise(edges))


def _deal(
    records: int,
    folder: Path,
    seed: int,
    progress: Progress | None,
) -> NDArray[np.int64]:
    """Deal the sorted records out to blocks by lot; where each block starts."""
    blocks = -(-records // BLOCK)
    pairs = np.memmap(folder / "sorted.pairs", np.int32, "r", shape=(records, 2))
    logs = np.memmap(folder / "sorted.logs", np.float32, "r", shape=(records,))
    steps = range(0, records, _STEP)

    def lots(low: int) -> NDArray[np.int64]:
        size = min(_STEP, records - low)
        return np.random.default_rng([seed, low]).integers(0, blocks, size)

    sizes = np.zeros(blocks, np.int64)
    for low in steps:
        sizes += np.bincount(lots(low), minlength=blocks)
    starts = np.zeros(blocks + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    free = starts[:-1].copy()
    new_pairs = np.memmap(folder / "pairs.i4", np.int32, "w+", shape=(records, 2))
    new_logs = np.memmap(folder / "logs.f4", np.float32, "w+", shape=(records,))
    for low in steps:
        lot = lots(low)
        order = np.argsort(lot, kind="stable")
        counts = np.bincount(lot, minlength=blocks)
        before = np.cumsum(counts) - counts
        places = np.arange(len(lot)) + np.repeat(free - before, counts)
        new_pairs[places] = pairs[low : low + len(lot)][order]
        new_logs[places] = logs[low : low + len(lot)][order]
        free += counts
        if progress is not None:
            progress("shuffle", min(records, low + _STEP), records)
    new_pairs.flush()
    new_logs.flush()
    return starts


def _reopen(folder: Path, wanted: dict[str, Any]) -> Cooccurrences | None:
    """What an earlier run left, if it is whole and made from the same."""
    try:
        body = json.loads((folder / "manifest.json").read_bytes())
        check = body.pop("check")
        if check != zlib.crc32(json.dumps(body, sort_keys=True).encode()):
            return None
        if json.loads(json.dumps(wanted)) != {name: body[name] for name in wanted}:
            return None
        return _open(folder, np.array(body["starts"], np.int64))
    except (OSError, ValueError, KeyError, AttributeError):
        return None


def _open(folder: Path, starts: NDArray[np.int64]) -> Cooccurrences:
    records = int(starts[-1])
    return Cooccurrences(
        np.memmap(folder / "pairs.i4", np.int32, "r", shape=(records, 2)),
        np.memmap(folder / "logs.f4", np.float32, "r", shape=(records,)),
        starts,
    )
