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
from dataclasses import asdict, dataclass
from typing import Any

from feedline.errors import TrainingError
from feedline.files.cores import cores
from feedline.words.engine.options import ModelOptions
from feedline.words.option import check, given, is_number


@dataclass(frozen=True, kw_only=True)
class Config(ModelOptions):
    """How to train. `Config.of` fills in what depends on the model."""

    alpha: float = 0.025
    min_alpha: float = 1e-4
    epochs: int = 5
    threads: int = 1

    def __post_init__(self) -> None:
        check(ModelOptions, self)
        if self.min_alpha > self.alpha:
            raise TrainingError(
                f"min_alpha is {self.min_alpha:g}, above alpha, which is "
                f"{self.alpha:g}: the rate falls from alpha to min_alpha. Give a "
                "smaller min_alpha."
            )
        if (self.min_n == 0) != (self.max_n == 0) or self.min_n > self.max_n:
            raise TrainingError(
                f"subwords of min_n {self.min_n} to max_n {self.max_n} characters: "
                "give both, the smaller first, as in 3 and 6, or 0 and 0 for none."
            )
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
        found = given(cls, "training", options)
        model = found.get("model", cls.model)
        found.setdefault("threads", cores())
        if model == "cbow":
            found.setdefault("alpha", 0.05)
        if model == "glove":
            found.setdefault("epochs", 15)
        alpha, epochs = found.get("alpha", cls.alpha), found.get("epochs", cls.epochs)
        if "min_alpha" not in found and is_number(alpha) and is_number(epochs):
            found["min_alpha"] = alpha / (2 * max(1, epochs))
        return cls(**found)

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
