"""Threads that scan blocks of text and count its words.

Each thread has a table of its own and shares nothing while it scans; the tables
are merged at the end, so the counts do not depend on who scanned what. Memory
is that of the tables, a block for each thread, and no more.

With a bound, a table that has grown past it forgets its rarest words, as
word2vec's ReduceVocab does: first those seen once, the next time those seen up
to twice, and so on. A word that is forgotten and comes again starts from zero,
and its earlier occurrences are left out of the encoded text too, so that counts
and text still agree. Threads then take blocks strictly in turn, so that a run
can be repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from feedline.files.cores import cores
from feedline.words.text.blocks import BLOCK, Blocks
from feedline.words.text.merge import chained, merge
from feedline.words.text.scan import SKIPPED, Scanner, Scans
from feedline.words.text.spool import Spool
from feedline.words.text.table import Table
from feedline.words.text.unwritable import unwritable

Progress = Callable[[str, int, "int | None"], None]

_MOST_THREADS = 8
# How long an interrupted run waits for its threads. One that waits for a pipe may
# wait for ever; it changes nothing any more when it wakes.
_PATIENCE = 1.0


@dataclass(frozen=True)
class Counted:
    """What was seen in a corpus."""

    table: Table
    maps: tuple[tuple[NDArray[np.int32], ...], ...]
    """For each thread and each of its eras: its numbers as numbers of `table`."""
    tokens: int
    invalid: int
    long: int
    forgotten: int
    """Words that a bounded table forgot."""


def threads_here() -> int:
    """As many threads as there are cores for this process, eight at most."""
    return min(cores(), _MOST_THREADS)


def count(
    blocks: Blocks,
    *,
    lower: bool = False,
    scanner: Callable[[int], Scans] = Scanner,
    threads: int | None = None,
    bound: int | None = None,
    spool: Spool | None = None,
    progress: Progress | None = None,
) -> Counted:
    """Count the words of all blocks; write their numbers to `spool`, if given.

    `scanner` makes each thread's, for blocks of a size. With one thread the work
    is done by the caller's own, which a tokeniser or an iterator of the user's may
    depend on.
    """
    number = threads_here() if threads is None else threads
    work = _Work(blocks, spool, bound, number)
    lanes = [_Lane(i, work, scanner(BLOCK)) for i in range(number)]
    try:
        if number == 1:
            lanes[0].run(progress)
        else:
            _run_all(lanes, work, progress)
    finally:
        if not work.abandoned:
            blocks.close()
    if progress is not None:
        progress("count", blocks.done, blocks.total)
    merged = merge([lane.scanner.table for lane in lanes], lower=lower)
    return Counted(
        merged.table,
        tuple(
            lane.composed(final) for lane, final in zip(lanes, merged.maps, strict=True)
        ),
        sum(lane.scanner.tokens for lane in lanes),
        merged.invalid + sum(lane.scanner.invalid for lane in lanes),
        merged.long + sum(lane.scanner.long for lane in lanes),
        sum(lane.forgotten for lane in lanes),
    )


class _Work:
    """What the threads share."""

    def __init__(
        self,
        blocks: Blocks,
        spool: Spool | None,
        bound: int | None,
        lanes: int,
    ) -> None:
        self.blocks = blocks
        self.spool = spool
        self.bound = bound
        self.lanes = lanes
        self.error: BaseException | None = None
        self.stopped = False
        self.abandoned = False
        self._turn = 0
        self._turns = threading.Condition()

    def take(self, lane: int, buffer: bytearray) -> tuple[int, int] | None:
        if self.bound is None or self.lanes == 1:
            return None if self.stopped else self.blocks.take(buffer)
        with self._turns:
            while self._turn != lane and not self.stopped:
                self._turns.wait()
            if self.stopped:
                return None
            try:
                return self.blocks.take(buffer)
            finally:
                self._turn = (lane + 1) % self.lanes
                self._turns.notify_all()

    def stop(self, error: BaseException | None = None) -> None:
        with self._turns:
            self.error = self.error or error
            self.stopped = True
            self._turns.notify_all()
        if self.spool is not None:
            self.spool.stop()


class _Lane:
    """One thread's share: its table, and the maps from its earlier eras."""

    def __init__(self, number: int, work: _Work, scanner: Scans) -> None:
        self.scanner = scanner
        self.forgotten = 0
        self._number = number
        self._work = work
        self._rarest = 0
        self._eras: list[Path] = []

    def run(self, progress: Progress | None = None) -> None:
        work = self._work
        buffer = bytearray()
        while (taken := work.take(self._number, buffer)) is not None:
            number, size = taken
            data = np.frombuffer(buffer, np.uint8)
            ids = self.scanner.scan(data, size)
            del data  # the buffer may be made longer when it is filled again
            if work.spool is not None:
                work.spool.put(number, self._number, len(self._eras), ids)
            if work.bound is not None and len(self.scanner.table) > work.bound:
                self._forget(work.bound)
            if progress is not None:
                progress("count", work.blocks.done, work.blocks.total)

    def composed(self, final: NDArray[np.int32]) -> tuple[NDArray[np.int32], ...]:
        """For each era its numbers as numbers of the merged table."""
        maps = [final]
        for path in reversed(self._eras):
            np.save(path, chained(np.load(path), maps[-1]))
            maps.append(np.load(path, mmap_mode="r"))
        return tuple(reversed(maps))

    def _forget(self, bound: int) -> None:
        table = self.scanner.table
        while len(table) > bound:
            self._rarest += 1
            size = len(table)
            kept = np.flatnonzero(table.counts[:size] > self._rarest)
            smaller = Table()
            era = np.full(size, SKIPPED, np.int32)
            era[kept] = smaller.add(
                table.arena,
                table.starts[kept],
                table.lengths[kept],
                table.counts[kept],
            )
            self._keep(era)
            self.forgotten += size - len(kept)
            table = smaller
        self.scanner.table = table

    def _keep(self, era: NDArray[np.int32]) -> None:
        # On disk: there may be many eras, and each is as long as the bound.
        spool = self._work.spool
        if spool is None:
            return
        path = spool.directory / f"era-{self._number}-{len(self._eras)}.npy"
        try:
            np.save(path, era)
        except OSError as error:
            raise unwritable(path, error) from error
        self._eras.append(path)


def _run_all(lanes: list[_Lane], work: _Work, progress: Progress | None) -> None:
    def run(lane: _Lane) -> None:
        try:
            lane.run()
        except BaseException as error:
            work.stop(error)

    threads = [
        threading.Thread(target=run, args=(lane,), name=f"words-{i}", daemon=True)
        for i, lane in enumerate(lanes)
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.1)
                if progress is not None and thread.is_alive():
                    progress("count", work.blocks.done, work.blocks.total)
    except BaseException:
        work.stop()
        for thread in threads:
            thread.join(_PATIENCE)
        work.abandoned = any(thread.is_alive() for thread in threads)
        raise
    if work.error is not None:
        raise work.error
