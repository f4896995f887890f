"""From the numbers of the spool to the ids of the shards.

Numbers become ids through one array look-up each. Words outside the vocabulary
fall out; a sentence with none left falls out whole; a sentence of more than
10,000 words is cut, as word2vec and gensim cut theirs, so that no window nor
buffer need be longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedline.words.text.merge import chained
from feedline.words.text.shards import END, ShardWriter
from feedline.words.text.spool import Spool

LONGEST_SENTENCE = 10_000

Maps = Sequence[Sequence[NDArray[np.int32]]]


def encode(
    spool: Spool,
    maps: Maps,
    ids_of: NDArray[np.int32],
    writer: ShardWriter,
    progress: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Write the ids of everything in the spool; how many ids, and sentences.

    `maps` lead from the numbers of a thread and era to those of one table, and
    `ids_of` from there to ids; what has none is below 0 in either.
    """
    out = np.empty(0, np.int32)
    state = np.zeros(3, np.int64)  # words in the open sentence, ids, sentences
    done = 0
    for final, numbers in translated(spool, maps, ids_of):
        room = len(numbers) + len(numbers) // LONGEST_SENTENCE + 2
        if room > len(out):
            out = np.empty(room, np.int32)
        writer.append(out[: _encode(numbers, final, out, state)])
        done += len(numbers)
        if progress is not None:
            progress(done)
    if state[0]:
        writer.append(np.array([END], np.int32))
        state[2] += 1
    return int(state[1]), int(state[2])


def translated(
    spool: Spool, maps: Maps, ids_of: NDArray[np.int32]
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Each part of the spool with the array that leads from its numbers to ids."""
    current: dict[int, tuple[int, NDArray[np.int32]]] = {}
    for lane, era, numbers in spool.read():
        if lane not in current or current[lane][0] != era:
            current[lane] = (era, chained(maps[lane][era], ids_of))
        yield current[lane][1], numbers


@njit(nogil=True, cache=True)
def _encode(
    numbers: NDArray[np.int32],
    final: NDArray[np.int32],
    out: NDArray[np.int32],
    state: NDArray[np.int64],
) -> int:
    open_words, tokens, sentences = state[0], state[1], state[2]
    size = 0
    for number in numbers:
        if number >= 0:
            word = final[number]
            if word >= 0:
                out[size] = word
                size += 1
                tokens += 1
                open_words += 1
                if open_words == LONGEST_SENTENCE:
                    out[size] = END
                    size += 1
                    sentences += 1
                    open_words = 0
        elif number == END and open_words:
            out[size] = END
            size += 1
            sentences += 1
            open_words = 0
    state[0], state[1], state[2] = open_words, tokens, sentences
    return size
