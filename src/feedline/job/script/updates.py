"""What an optimizer updates, as it was seen to do so; neither is kept alive by it."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Update:
    """`sparse`: the places of those variables whose gradient names only some rows, and
    how many it names, where that is known."""

    kind: str
    sparse: Mapping[int, int | None]
    _optimizer: weakref.ref[Any]
    _variables: tuple[weakref.ref[Any], ...]

    @classmethod
    def of(
        cls, optimizer: Any, variables: Sequence[Any], sparse: Mapping[int, int | None]
    ) -> Update:
        return cls(
            type(optimizer).__name__,
            sparse,
            weakref.ref(optimizer),
            tuple(weakref.ref(variable) for variable in variables),
        )

    @property
    def optimizer(self) -> Any:
        """None where the script has dropped it."""
        return self._optimizer()

    def variables(self) -> list[Any]:
        """None of them where the script has dropped one."""
        found = [variable() for variable in self._variables]
        return [] if any(variable is None for variable in found) else found


def seen(optimizer: Any, gradients: Sequence[Any], variables: Sequence[Any]) -> Update:
    """As it is about to be made."""
    sparse = {
        place: _rows(gradient)
        for place, gradient in enumerate(gradients)
        if type(gradient).__name__ == "IndexedSlices"
    }
    return Update.of(optimizer, variables, sparse)


def _rows(gradient: Any) -> int | None:
    shape = gradient.indices.shape
    length = shape[0] if shape.rank else None
    return None if length is None else int(length)
