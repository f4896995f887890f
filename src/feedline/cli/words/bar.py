"""The progress of training on the terminal: words/s, loss, time left, by rich."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feedline.words.training.driver import Progress

_STAGES = {
    "count": "counting words",
    "phrases": "joining phrases",
    "encode": "encoding",
    "cooccurrences": "counting pairs",
    "merge": "merging pairs",
    "shuffle": "shuffling pairs",
    "compile": "compiling",
    "train": "training",
    "save": "saving",
}


class Bar:
    """One line that follows a run; call it with each `Progress`.

    Nothing is drawn where standard error is no terminal, so that logs stay clean.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.trained = False
        self._quiet = quiet
        self._started = time.perf_counter()
        self._bar: Any = None
        self._line: Any = None
        self._stage = ""

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    def __enter__(self) -> Bar:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        console = Console(stderr=True)
        if not self._quiet and console.is_terminal:
            self._bar = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[more]}"),
                console=console,
                transient=True,
            )
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        self.trained = self.trained or progress.stage == "train"
        if self._bar is None:
            return
        if progress.stage != self._stage:
            self._stage = progress.stage
            if self._line is not None:
                self._bar.remove_task(self._line)
            name = _STAGES.get(progress.stage, progress.stage)
            self._line = self._bar.add_task(name, total=progress.total, more="")
        self._bar.update(
            self._line,
            completed=progress.done,
            total=progress.total,
            more=_more(progress),
        )


def _more(progress: Progress) -> str:
    if progress.stage != "train":
        return ""
    parts = [f"epoch {progress.epoch}/{progress.epochs}"]
    if progress.words_per_second:
        parts.append(f"{progress.words_per_second / 1e6:.2f} M words/s")
    if progress.loss is not None:
        parts.append(f"loss {progress.loss:.3f}")
    if progress.seconds_left is not None:
        parts.append(f"{_clock(progress.seconds_left)} left")
    return "  ".join(parts)


def _clock(seconds: float) -> str:
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"
    return f"{whole // 60}:{whole % 60:02}"
