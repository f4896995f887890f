"""An approximate index for large vocabularies, by usearch.

Exact search reads the whole matrix for every question. An index (HNSW) reads a
few hundred rows, finds most of the true neighbours, and may miss some: that is
the price, and the caller asks for it by name. usearch is optional.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from feedline.errors import VectorsError
from feedline.words.vectors import search

if TYPE_CHECKING:
    from feedline.words.vectors.vectors import Vectors

_BLOCK = 65_536


@dataclass(frozen=True, eq=False)
class Index:
    """Approximate neighbours by cosine over the rows of one `Vectors`."""

    native: Any
    rows: int

    @classmethod
    def build(
        cls, vectors: Vectors, *, connectivity: int = 16, effort: int = 128
    ) -> Index:
        """Index every row. More `connectivity` and `effort`: fewer misses, slower."""
        try:
            from usearch.index import Index as Native
        except ImportError:
            raise VectorsError(
                "an approximate index needs usearch, which is not installed; exact "
                "search works without it. Install it with: "
                'pip install "feedline[search]"'
            ) from None
        native = Native(
            ndim=vectors.dim,
            metric="cos",
            dtype="f32",
            connectivity=connectivity,
            expansion_add=effort,
            expansion_search=effort,
        )
        for start in range(0, len(vectors), _BLOCK):
            block = np.ascontiguousarray(vectors.matrix[start : start + _BLOCK])
            native.add(np.arange(start, start + len(block)), block)
        return cls(native, len(vectors))

    def nearest(
        self,
        query: NDArray[np.float32],
        n: int,
        known: Sequence[int] = (),
        restrict: int | None = None,
    ) -> tuple[list[int], list[float]]:
        """The ids and cosines of about the `n` nearest rows, best first."""
        if n < 1:
            raise VectorsError(f"{n} neighbours: give 1 or more")
        rows = self.rows if restrict is None else search.limit(restrict)
        if rows < self.rows:
            raise VectorsError(
                "an approximate index searches all words and cannot be restricted to "
                f"the first {restrict}: search without the index"
            )
        found = self.native.search(
            np.ascontiguousarray(query, np.float32), min(n + len(known), self.rows)
        )
        pairs = [
            (int(key), 1.0 - float(distance))
            for key, distance in zip(found.keys, found.distances, strict=True)
            if int(key) not in known
        ][:n]
        return [key for key, _ in pairs], [score for _, score in pairs]
