"""What a fit was told of its validation: on which data, how often, how much of it.

Read from the arguments of `Model.fit` as the script gave them; nothing is read from
the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from feedline.job.job import Validates


@dataclass(frozen=True)
class Validated:
    """`epochs` are the first epoch of the fit and the one after its last; `often` is
    `validation_freq`; `steps` and `batch_size` are None where the script names none."""

    kind: Validates
    data: Any
    epochs: tuple[int, int] | None
    often: int | tuple[int, ...] = 1
    steps: int | None = None
    batch_size: int | None = None

    @property
    def passes(self) -> int | None:
        """How many passes over its data the fit makes."""
        if self.epochs is None:
            return None
        first, end = self.epochs
        if isinstance(self.often, int):
            return end // self.often - first // self.often
        return len({epoch for epoch in self.often if first < epoch <= end})

    @property
    def every(self) -> float:
        """Epochs for each pass, on the average."""
        if isinstance(self.often, int):
            return float(self.often)
        passes = self.passes
        if not passes or self.epochs is None:
            return 1.0
        return max(1.0, (self.epochs[1] - self.epochs[0]) / passes)


def validated(arguments: Mapping[str, Any]) -> Validated | None:
    """None where the fit validates nothing, or Keras will refuse what it was told."""
    data = arguments.get("validation_data")
    split = arguments.get("validation_split")
    if data is None and not split:
        return None
    often = _often(arguments.get("validation_freq", 1))
    if often is None:
        return None
    size = arguments.get("validation_batch_size") or arguments.get("batch_size")
    return Validated(
        _kind(data),
        data,
        _epochs(arguments),
        often,
        _whole(arguments.get("validation_steps")),
        _whole(size),
    )


def _often(given: Any) -> int | tuple[int, ...] | None:
    if isinstance(given, int) and given > 0:
        return int(given)
    if isinstance(given, Sequence) and all(isinstance(each, int) for each in given):
        return tuple(given)
    return None


def _epochs(arguments: Mapping[str, Any]) -> tuple[int, int] | None:
    try:
        first = int(arguments.get("initial_epoch", 0))
        return first, max(first, int(arguments.get("epochs", 1)))
    except (TypeError, ValueError):
        return None


def _whole(value: Any) -> int | None:
    try:
        return None if value is None else int(value)
    except (TypeError, ValueError):
        return None


def _kind(data: Any) -> Validates:
    names = {each.__name__ for each in type(data).__mro__}
    if names & {"PyDataset", "Sequence"} and hasattr(data, "__getitem__"):
        return "PyDataset"
    if names & {"DatasetV2", "DistributedDataset"}:
        return "dataset"
    if hasattr(data, "__next__"):
        return "generator"
    return "arrays"
