"""What an engine can be asked: the model and its numbers, and what it runs on.

Light: the command line reads it for `--help`, before NumPy is loaded.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from feedline.errors import TrainingError
from feedline.words.option import check, option

MODEL, TRAINING, SUBWORDS = "Model", "Training", "Subwords, as in fastText"
GLOVE, ENGINE = "GloVe", "Engine"

MODELS = ("skipgram", "cbow", "glove")
LOSSES = ("ns", "hs")
PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")


def seed() -> int:
    """The option, of all that train."""
    return option(
        1,
        "Seed of all random draws.",
        TRAINING,
        0,
        2**63 - 1,
        "any whole number from 0 up",
    )


def threads() -> int | None:
    """The option, of all that train."""
    return option(
        None,
        "Threads to train with.",
        TRAINING,
        1,
        4_096,
        "as many as there are cores",
        kind=int,
        unless="all cores allowed",
    )


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """What is trained, and how. `Config` is the same with all defaults filled in."""

    model: str = option("skipgram", "The model to train.", MODEL, choices=MODELS)
    loss: str = option(
        "ns", "ns: negative sampling; hs: hierarchical softmax.", MODEL, choices=LOSSES
    )
    dim: int = option(
        100, "Dimension of the vectors.", MODEL, 1, 65_536, "100 or 300 are usual"
    )
    window: int = option(
        5, "Context words on each side, at most.", MODEL, 1, 1_000, "5 is usual"
    )
    negative: int = option(
        5, "Negative samples per positive.", MODEL, 1, 1_000, "5 to 20 are usual"
    )
    sample: float = option(
        1e-3,
        "Downsample words more frequent than this; 0: none.",
        MODEL,
        0.0,
        1.0,
        "1e-3 is usual, 0 keeps every word",
        value="T",
    )
    ns_exponent: float = option(
        0.75,
        "Negatives are drawn by count to this power.",
        MODEL,
        -5.0,
        5.0,
        "0.75 is usual",
        value="P",
    )
    epochs: int | None = option(
        None,
        "Passes over the text.",
        TRAINING,
        1,
        100_000,
        "5 is usual",
        kind=int,
        unless="5; glove: 15",
    )
    alpha: float | None = option(
        None,
        "Learning rate at the start.",
        TRAINING,
        1e-9,
        10.0,
        "0.025 is usual, 0.05 for CBOW",
        kind=float,
        value="R",
        unless="0.025; cbow: 0.05",
    )
    min_alpha: float | None = option(
        None,
        "Learning rate at the end.",
        TRAINING,
        0.0,
        10.0,
        "alpha / (2 * epochs) is usual",
        kind=float,
        value="R",
        unless="alpha / (2 epochs)",
    )
    seed: int = seed()
    threads: int | None = threads()
    min_n: int = option(
        0, "Shortest n-gram; 0: none.", SUBWORDS, 0, 64, "3 is usual, 0 for no subwords"
    )
    max_n: int = option(
        0, "Longest n-gram; 0: none.", SUBWORDS, 0, 64, "6 is usual, 0 for no subwords"
    )
    bucket: int = option(
        2_000_000,
        "Hash buckets that all n-grams share.",
        SUBWORDS,
        1,
        2**31 - 2**24,
        "2000000 is usual",
    )
    x_max: float = option(
        100.0,
        "Count from which a pair has full weight.",
        GLOVE,
        1e-9,
        1e12,
        "100 is usual, 10 for a small corpus",
        value="X",
    )
    power: float = option(
        0.75,
        "Below that, weight is count / X to this power.",
        GLOVE,
        0.0,
        10.0,
        "0.75 is usual",
        value="P",
    )
    eta: float = option(
        0.05, "Learning rate of AdaGrad.", GLOVE, 1e-9, 10.0, "0.05 is usual", value="R"
    )


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What the engine runs on; only `tensorflow` has a choice."""

    devices: str | None = option(
        None,
        "tensorflow: all, or a list as in GPU:0,GPU:1.",
        ENGINE,
        kind=str,
        value="LIST",
        unless="the first",
    )
    precision: str = option(
        "float32",
        "tensorflow: of products; rows stay float32.",
        ENGINE,
        choices=PRECISIONS,
    )
    cluster: str | os.PathLike[str] | None = option(
        None,
        "tensorflow: train on the machines that FILE names, in the form of TF_CONFIG.",
        ENGINE,
        kind=os.PathLike,
        value="FILE",
    )
    worker: int | None = option(
        None,
        "tensorflow: which worker of the cluster this machine is.",
        ENGINE,
        kind=int,
    )
    device_memory: float | None = option(
        None,
        "tensorflow: memory for rows on a device; more are divided among devices.",
        ENGINE,
        kind=float,
        value="GB",
        unless="what it has",
    )

    def __post_init__(self) -> None:
        check(Setup, self)
        if self.device_memory is not None and not self.device_memory > 0:
            raise TrainingError(
                f"device_memory is {self.device_memory}: give a number of GB above 0."
            )
