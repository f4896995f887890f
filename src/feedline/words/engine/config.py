"""What training is asked to do, as one frozen value.

Every number is checked here, once, so that the engines need not. What is left
out takes the default of its model: skip-gram learns at 0.025 and CBOW at 0.05,
GloVe makes 15 passes where the others make 5.

The learning rate falls in a straight line from `alpha` to `min_alpha`, which is
`alpha / (2 * epochs)` unless given. word2vec's 0.0001 wastes the end of a short
training: after one epoch of 17 million words it is worth 0.03 of WordSim-353 and
0.02 of SimLex-999, with more analogies solved as well. (gensim asks for 0.0001 too,
but in its corpus_file mode with two workers the rate falls just as far as here.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from feedline.errors import TrainingError
from feedline.files.cores import cores
from feedline.words.checks import is_number as _is_number
from feedline.words.checks import number as _number
from feedline.words.checks import one_of as _one_of
from feedline.words.checks import whole as _whole

MODELS = ("skipgram", "cbow", "glove")
LOSSES = ("ns", "hs")


@dataclass(frozen=True)
class Config:
    """How to train. `Config.of` fills in what depends on the model."""

    model: str = "skipgram"
    loss: str = "ns"
    dim: int = 100
    window: int = 5
    negative: int = 5
    sample: float = 1e-3
    ns_exponent: float = 0.75
    alpha: float = 0.025
    min_alpha: float = 1e-4
    epochs: int = 5
    seed: int = 1
    threads: int = 1
    min_n: int = 0
    max_n: int = 0
    bucket: int = 2_000_000
    x_max: float = 100.0
    power: float = 0.75
    eta: float = 0.05

    def __post_init__(self) -> None:
        _one_of("model", self.model, MODELS)
        _one_of("loss", self.loss, LOSSES)
        _whole("dim", self.dim, 1, 65_536, "100 or 300 are usual")
        _whole("window", self.window, 1, 1_000, "5 is usual")
        _whole("negative", self.negative, 1, 1_000, "5 to 20 are usual")
        _number("sample", self.sample, 0.0, 1.0, "1e-3 is usual, 0 keeps every word")
        _number("ns_exponent", self.ns_exponent, -5.0, 5.0, "0.75 is usual")
        _number("alpha", self.alpha, 1e-9, 10.0, "0.025 is usual, 0.05 for CBOW")
        _number(
            "min_alpha",
            self.min_alpha,
            0.0,
            10.0,
            "half of alpha, divided by the epochs, is usual",
        )
        if self.min_alpha > self.alpha:
            raise TrainingError(
                f"min_alpha is {self.min_alpha:g}, above alpha, which is "
                f"{self.alpha:g}: the rate falls from alpha to min_alpha. Give a "
                "smaller min_alpha."
            )
        _whole("epochs", self.epochs, 1, 100_000, "5 is usual")
        _whole("seed", self.seed, 0, 2**63 - 1, "any whole number from 0 up")
        _whole("threads", self.threads, 1, 4_096, "as many as there are cores")
        _whole("min_n", self.min_n, 0, 64, "3 is usual, 0 for no subwords")
        _whole("max_n", self.max_n, 0, 64, "6 is usual, 0 for no subwords")
        _whole("bucket", self.bucket, 1, 2**31 - 2**24, "2000000 is usual")
        if (self.min_n == 0) != (self.max_n == 0) or self.min_n > self.max_n:
            raise TrainingError(
                f"subwords of min_n {self.min_n} to max_n {self.max_n} characters: "
                "give both, the smaller first, as in 3 and 6, or 0 and 0 for none."
            )
        _number("x_max", self.x_max, 1e-9, 1e12, "100 is usual, 10 for a small corpus")
        _number("power", self.power, 0.0, 10.0, "0.75 is usual")
        _number("eta", self.eta, 1e-9, 10.0, "0.05 is usual")
        if self.model == "glove" and self.subwords:
            raise TrainingError(
                f"GloVe has no subwords, and min_n is {self.min_n}: leave min_n and "
                "max_n at 0, or take the model skipgram or cbow."
            )

    @property
    def subwords(self) -> bool:
        return self.max_n > 0

    @classmethod
    def of(cls, **options: Any) -> Config:
        """A config from the given options; None means the model's default."""
        unknown = sorted(set(options) - {field.name for field in fields(cls)})
        if unknown:
            raise TrainingError(
                f"there is no training option {unknown[0]!r}; there are: "
                f"{', '.join(field.name for field in fields(cls))}."
            )
        given = {name: value for name, value in options.items() if value is not None}
        model = given.get("model", cls.model)
        given.setdefault("threads", cores())
        if model == "cbow":
            given.setdefault("alpha", 0.05)
        if model == "glove":
            given.setdefault("epochs", 15)
        alpha, epochs = given.get("alpha", cls.alpha), given.get("epochs", cls.epochs)
        if "min_alpha" not in given and _is_number(alpha) and _is_number(epochs):
            given["min_alpha"] = alpha / (2 * max(1, epochs))
        return cls(**given)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def differs(self, other: Mapping[str, Any]) -> list[str]:
        """What another run's options have otherwise, in words; threads may differ."""
        mine = self.as_dict()
        return [
            f"{name} is {mine[name]!r}, was {other.get(name)!r}"
            for name in mine
            if name != "threads" and mine[name] != other.get(name)
        ]
