"""What training looks up and never changes: made once, used by every engine.

    keep       how likely a frequent word is kept (word2vec's subsampling)
    noise      from which negatives are drawn (the alias method)
    tree       the Huffman tree of hierarchical softmax
    grams      the subwords of every word

Random numbers are part of the result, so they are defined here too: a 64-bit
linear congruential generator whose upper 32 bits are used, seeded anew for every
block from (seed, epoch, block). A block therefore comes out the same whichever
thread takes it, and a run that goes on from a checkpoint draws what it would have
drawn.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feedline.words.engine.config import Config
from feedline.words.vectors.subwords import table as subword_table

MULTIPLIER = 6364136223846793005
INCREMENT = 1442695040888963407
MASK = 2**64 - 1
ALWAYS = 2**32 - 1
"""The threshold of a word that is always kept, for which nothing is drawn."""

POOL = 256
"""Words of noise that are at hand at a time. Negatives are drawn from the pool, each
place as likely as any other, and the pool is renewed place by place from the whole
distribution. A word so drawn is used two or three times before it goes, for words
that lie some sentences apart. Its row is then in the cache: rows of noise are what
training waits for, and this fetches them two or three times less often. Sharing
negatives in the whole of a window would save as much and costs quality, since the
uses of a word then all push against the same few neighbours."""
DRAWN = 5
"""Places of the pool that one random number gives, eight bits each."""

SHARED = {"ns": 4, "hs": 2}
"""Words of a window that take their steps together, by loss: from one draw of noise, or
along one path. Four on a path would push the same few rows from where they were: that
costs analogies."""

SENTENCE = 1024
"""Kept words after which a longer sentence is cut."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The look-ups of one training run. Those that it does not need are empty."""

    config: Config
    words: int
    keep: NDArray[np.uint32]
    noise: NDArray[np.uint64]
    """For each cell: the threshold in the upper half, the other word in the lower."""
    path_offsets: NDArray[np.int64]
    path_nodes: NDArray[np.int32]
    path_codes: NDArray[np.int8]
    gram_offsets: NDArray[np.int64]
    gram_ids: NDArray[np.int32]
    """Rows of the input matrix: the buckets come after the words."""

    @cached_property
    def longest_path(self) -> int:
        """Nodes above the word that lies deepest in the tree."""
        return int(np.diff(self.path_offsets).max(initial=0))

    @cached_property
    def widest_bag(self) -> int:
        """Rows of the word that has most: its own and its subwords'."""
        return 1 + int(np.diff(self.gram_offsets).max(initial=0))

    @property
    def input_rows(self) -> int:
        return self.words + (self.config.bucket if self.config.subwords else 0)

    @property
    def output_rows(self) -> int:
        """Words, or the inner nodes of their tree."""
        return self.words


def make(config: Config, words: tuple[str, ...], counts: NDArray[np.int64]) -> Tables:
    """The tables for a vocabulary."""
    count = len(words)
    hierarchical = config.loss == "hs"
    paths = huffman(counts) if hierarchical else _no_paths()
    if config.subwords:
        offsets, ids = subword_table(words, config.min_n, config.max_n, config.bucket)
        grams = offsets.astype(np.int64), (ids + np.int32(count)).astype(np.int32)
    else:
        grams = np.zeros(1, np.int64), np.empty(0, np.int32)
    noise = np.empty(0, np.uint64)
    if not hierarchical:
        # A word of no count, as a given vocabulary may have, weighs as if seen once.
        seen = np.maximum(counts, 1).astype(np.float64)
        noise = alias(seen**config.ns_exponent)
    return Tables(config, count, keep(counts, config.sample), noise, *paths, *grams)


def keep(counts: NDArray[np.int64], sample: float) -> NDArray[np.uint32]:
    """word2vec's threshold for each word: kept if a draw is not above it."""
    if sample == 0:
        return np.full(len(counts), ALWAYS, np.uint32)
    share = np.maximum(counts, 1) / max(1, counts.sum()) / sample
    likely = np.minimum(1.0, np.sqrt(1 / share) + 1 / share)
    return np.asarray(np.minimum(likely * 2.0**32, ALWAYS), np.uint32)


def alias(weights: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Walker's alias table: a draw costs one look-up, whatever the vocabulary."""
    scaled = weights * (len(weights) / weights.sum())
    return np.asarray(_alias(scaled))


@njit(cache=True)
def _alias(scaled: NDArray[np.float64]) -> NDArray[np.uint64]:
    n = scaled.size
    table = np.empty(n, np.uint64)
    small, large = np.empty(n, np.int64), np.empty(n, np.int64)
    smalls = larges = 0
    for i in range(n):
        if scaled[i] < 1.0:
            small[smalls] = i
            smalls += 1
        else:
            large[larges] = i
            larges += 1
    full = np.uint64(0xFFFFFFFF) << np.uint64(32)
    while smalls and larges:
        smalls -= 1
        poor, rich = small[smalls], large[larges - 1]
        threshold = np.uint64(min(scaled[poor] * 4294967296.0, 4294967295.0))
        table[poor] = (threshold << np.uint64(32)) | np.uint64(rich)
        scaled[rich] -= 1.0 - scaled[poor]
        if scaled[rich] < 1.0:
            larges -= 1
            small[smalls] = rich
            smalls += 1
    for i in range(smalls):
        table[small[i]] = full | np.uint64(small[i])
    for i in range(larges):
        table[large[i]] = full | np.uint64(large[i])
    return table


def huffman(
    counts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int8]]:
    """For each word the inner nodes from the root down, and the branch at each.

    Nodes are numbered in the order in which they are made, the root last.
    """
    words = len(counts)
    parent = np.zeros(2 * words - 1, np.int64)
    branch = np.zeros(2 * words - 1, np.int8)
    heap = [(int(count), i) for i, count in enumerate(counts)]
    heapq.heapify(heap)
    for node in range(words, 2 * words - 1):
        first, left = heapq.heappop(heap)
        second, right = heap[0]
        parent[left] = parent[right] = node
        branch[right] = 1
        heapq.heapreplace(heap, (first + second, node))
    return _paths(parent, branch, words)  # type: ignore[no-any-return]


@njit(cache=True)
def _paths(
    parent: NDArray[np.int64], branch: NDArray[np.int8], words: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int8]]:
    root = 2 * words - 2
    depth = np.zeros(2 * words - 1, np.int64)
    for node in range(root - 1, -1, -1):
        depth[node] = depth[parent[node]] + 1
    offsets = np.zeros(words + 1, np.int64)
    for word in range(words):
        offsets[word + 1] = offsets[word] + depth[word]
    nodes = np.empty(offsets[words], np.int32)
    codes = np.empty(offsets[words], np.int8)
    for word in range(words):
        at, node = offsets[word + 1], word
        while node != root:
            at -= 1
            codes[at] = branch[node]
            node = parent[node]
            nodes[at] = node - words
    return offsets, nodes, codes


def _no_paths() -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int8]]:
    return np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int8)


def renewed(count: int) -> int:
    """Places of the pool to renew after `count` words were drawn from it."""
    return (2 * count + 4) // 5


def block_seed(seed: int, epoch: int, block: int) -> int:
    """The generator's state at the start of a block (splitmix64 of the three)."""
    state = 0
    for value in (seed, epoch, block):
        state = (state + value + 0x9E3779B97F4A7C15) & MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
        state ^= state >> 31
    return state
