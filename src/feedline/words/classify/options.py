"""What a classifier is trained with, as one frozen value."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from feedline.errors import TrainingError
from feedline.files.cores import cores
from feedline.words.checks import number, whole
from feedline.words.text.tokenise import compiled


@dataclass(frozen=True)
class Options:
    """Names are fastText's; what is meant by each stands in docs/classify.md."""

    dim: int = 100
    epochs: int = 15
    lr: float = 1.0
    word_ngrams: int = 1
    min_count: int = 1
    bucket: int = 2_000_000
    seed: int = 1
    threads: int = 1
    lower: bool = False
    pattern: str | None = None

    def __post_init__(self) -> None:
        whole("dim", self.dim, 1, 65_536, "100 is usual")
        whole("epochs", self.epochs, 1, 100_000, "5 to 25 are usual")
        number("lr", self.lr, 1e-9, 100.0, "0.1 to 1 are usual")
        whole("word_ngrams", self.word_ngrams, 1, 16, "1 to 3 are usual")
        whole("min_count", self.min_count, 1, 2**31 - 1, "1 to 5 are usual")
        whole("bucket", self.bucket, 1, 2**30, "2000000 is usual")
        whole("seed", self.seed, 0, 2**63 - 1, "any whole number from 0 up")
        whole("threads", self.threads, 1, 4_096, "as many as there are cores")
        if self.pattern is not None:
            compiled(self.pattern)

    @classmethod
    def of(cls, **options: Any) -> Options:
        """Options from those given; None means the default."""
        unknown = sorted(set(options) - {field.name for field in fields(cls)})
        if unknown:
            raise TrainingError(
                f"there is no option {unknown[0]!r} of a classifier; there are: "
                f"{', '.join(field.name for field in fields(cls))}."
            )
        given = {name: value for name, value in options.items() if value is not None}
        given.setdefault("threads", cores())
        return cls(**given)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
