"""All that `words.train` can be asked, as one frozen value.

Its fields are the function's parameters, and those that are an `option` are the
command line's too. Light: `--help` reads it before NumPy is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from feedline.errors import TrainingError
from feedline.words.engine import ENGINES
from feedline.words.engine.options import ENGINE, ModelOptions, Setup
from feedline.words.option import option
from feedline.words.text.options import TEXT, TextOptions

if TYPE_CHECKING:
    from feedline.words.text.vocabulary import Vocabulary
    from feedline.words.training.driver import Progress
    from feedline.words.vectors.vectors import Vectors

AUTO = "auto"
OUTPUT = "Output"


@dataclass(frozen=True, kw_only=True)
class EngineName:
    """Which engine trains: the first of the engine's options."""

    engine: str = option(
        "cpu",
        "auto: the faster of cpu and tensorflow, measured.",
        ENGINE,
        choices=(*ENGINES, AUTO),
    )


@dataclass(frozen=True, kw_only=True)
class Options(Setup, EngineName, TextOptions, ModelOptions):
    """The model's, the text's and the engine's options, and those of the run."""

    corpus: Any = field(kw_only=False)
    out: str | os.PathLike[str] | None = None
    tokenize: Callable[[str], Iterable[str]] | None = None
    vocabulary: Vocabulary | str | os.PathLike[str] | None = option(
        None, "Take the words from FILE.", TEXT, kind=os.PathLike, value="FILE"
    )
    start: Vectors | str | os.PathLike[str] | None = option(
        None,
        "Continue from the vectors in DIR; new words are added.",
        "Training",
        kind=os.PathLike,
        value="DIR",
    )
    cache: str | os.PathLike[str] | None = option(
        None,
        "Keep the encoded text in DIR, for other runs.",
        OUTPUT,
        kind=os.PathLike,
        value="DIR",
    )
    resume: bool = option(False, "Continue an interrupted run.", OUTPUT)
    force: bool = option(False, "Overwrite what is in DIR.", OUTPUT)
    checkpoint_every: float = option(
        60.0, "Seconds between checkpoints.", OUTPUT, value="S", flags=("--checkpoint",)
    )
    save_epochs: bool = option(False, "Also save the vectors of each epoch.", OUTPUT)
    progress: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        """Checked as parts: `Config`, `Setup`, the recipe. Here, what needs `out`."""
        if not self.checkpoint_every > 0:
            raise TrainingError(
                f"checkpoint_every is {self.checkpoint_every}: give a number of "
                "seconds above 0."
            )
        if self.save_epochs and self.out is None:
            raise TrainingError("save_epochs needs a directory to save to: give out.")
        if self.resume and self.out is None:
            raise TrainingError("resume needs the directory of the run: give out.")
