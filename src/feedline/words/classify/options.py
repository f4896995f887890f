"""What a classifier is trained with, as frozen values. Names are fastText's.

Light: the command line reads it for `--help`, before NumPy is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from feedline.files.cores import cores
from feedline.words.engine.options import MODEL, TRAINING, seed, threads
from feedline.words.option import check, given, option
from feedline.words.text.options import TEXT, lower, pattern

if TYPE_CHECKING:
    from feedline.words.classify.examples import Column
    from feedline.words.training.driver import Progress
    from feedline.words.vectors.vectors import Vectors


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The options as they are given. `Options` has all defaults filled in."""

    dim: int | None = option(
        None,
        "Dimension of the vectors.",
        MODEL,
        1,
        65_536,
        "100 is usual",
        kind=int,
        unless="100, or that of --pretrained",
    )
    epochs: int = option(
        15,
        "Passes over the texts.",
        TRAINING,
        1,
        100_000,
        "5 to 25 are usual",
        flags=("--epochs", "--epoch"),
    )
    lr: float = option(
        1.0,
        "Learning rate at the start; it falls to 0.",
        TRAINING,
        1e-9,
        100.0,
        "0.1 to 1 are usual",
        value="R",
    )
    word_ngrams: int = option(
        1, "Longest word n-gram; 1: none.", MODEL, 1, 16, "1 to 3 are usual"
    )
    min_count: int = option(
        1, "Leave out words seen less often.", TEXT, 1, 2**31 - 1, "1 to 5 are usual"
    )
    bucket: int = option(
        2_000_000,
        "Hash buckets that n-grams share, at most.",
        MODEL,
        1,
        2**30,
        "2000000 is usual",
    )
    seed: int = seed()
    threads: int | None = threads()
    lower: bool = lower()
    pattern: str | None = pattern()


@dataclass(frozen=True, kw_only=True)
class Options(Choices):
    """What is meant by each stands in docs/classify.md."""

    dim: int = 100
    threads: int = 1

    def __post_init__(self) -> None:
        check(Choices, self)
        if self.pattern is not None:
            from feedline.words.text.tokenise import compiled

            compiled(self.pattern)

    @classmethod
    def of(cls, **options: Any) -> Options:
        """Options from those given; None means the default."""
        return cls(**{"threads": cores(), **given(cls, "classifier", options)})

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Request(Choices):
    """All that `classify.train` can be asked."""

    data: Any = field(kw_only=False)
    pretrained: Vectors | str | os.PathLike[str] | None = option(
        None, "Start from these vectors.", TRAINING, kind=os.PathLike, value="VECTORS"
    )
    format: str | None = None
    label: Column | None = None
    text: Column | tuple[Column, ...] = ()
    progress: Callable[[Progress], None] | None = None
