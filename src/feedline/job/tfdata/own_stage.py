"""Dataset classes of feedline's own, as reading and rebuilding see them.

A fix may put a dataset of its own class into a pipeline. `OwnStage` is what such a
class inherits: it says which op it stands for, over which dataset, with which
arguments. Among the arguments, under `MADE_BY`, is how it is made again over another
input. So `read.py` and `rebuild.py` need not know any of these classes.
"""

from __future__ import annotations

from typing import Any

MADE_BY = "made_by"
"""The argument of a stage that holds its maker: called with a dataset, it makes the
stage over it. Two makers that are equal make the same."""


class OwnStage:
    """A dataset of our own class, read as the public op that it replaces."""

    def stands_for(self) -> str:
        """The op."""
        raise NotImplementedError

    def reads_from(self) -> Any:
        """The dataset that it is made over."""
        raise NotImplementedError

    def stage_arguments(self) -> dict[str, Any]:
        """The op's arguments, and the maker under `MADE_BY`."""
        raise NotImplementedError
