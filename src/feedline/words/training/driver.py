"""Drives a task from where it stands to its end.

Between legs (see loop.py) it writes checkpoints when they are due, saves an epoch's
vectors if asked, and notes what happens in `metrics.jsonl`. It knows neither
models nor text.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from feedline.errors import TrainingError
from feedline.words.engine.kinds import Tally
from feedline.words.training import checkpoint
from feedline.words.training.loop import Leg
from feedline.words.training.task import Task

METRICS = "metrics.jsonl"
_NOTE_EVERY = 10.0
_TELL_EVERY = 0.25
# A checkpoint may take this share of the time: large matrices get fewer.
_SHARE = 0.03


@dataclass(frozen=True)
class Progress:
    """How far a run is: what a progress bar shows."""

    stage: str
    """"count", "encode", ... as the corpus is read; then "train"; then "save"."""
    done: float
    total: float | None
    epoch: int = 0
    epochs: int = 0
    words_per_second: float = 0.0
    loss: float | None = None
    """The mean of an example's loss since the last note."""
    rate: float = 0.0
    seconds_left: float | None = None


@dataclass
class Driver:
    """One run of a task."""

    task: Task
    threads: int
    words: int
    """Raw words in one epoch: what speed is told in."""
    folder: Path | None = None
    record: dict[str, Any] = field(default_factory=dict)
    checkpoint_every: float = 60.0
    tell: Callable[[Progress], None] | None = None
    after_epoch: Callable[[int], None] | None = None
    epoch: int = 0
    place: int = 0
    seconds: float = 0.0
    """Spent training, by earlier runs too."""
    trained: float = 0.0
    """Seconds of this run that were spent training."""
    words_done: float = 0.0
    """Raw words of this run."""
    losses: list[float] = field(default_factory=list)
    """The mean loss of each epoch so far."""
    _epoch_tally: Tally = field(default_factory=Tally)
    _noted: tuple[float, float, Tally] = (0.0, 0.0, Tally())
    _last_loss: float | None = None
    _told: float = 0.0

    def restore(self, found: checkpoint.Checkpoint) -> None:
        """Go on from a checkpoint instead."""
        checkpoint.read_tensors(found.tensors, self.task.tensors())
        self.epoch, self.place = found.epoch, found.place
        self.seconds = float(found.state["seconds"])
        self.losses = [float(loss) for loss in found.state["losses"]]
        self._epoch_tally = Tally(*found.state["tally"])

    def run(self) -> None:
        """Train to the end. An interrupt leaves a checkpoint."""
        due = time.monotonic() + self.checkpoint_every
        epochs = self.task.config.epochs
        try:
            while self.epoch < epochs:
                ended = self._leg(due)
                if ended:
                    self._end_epoch()
                if self.folder is not None and time.monotonic() >= due:
                    took = self._save()
                    wait = max(self.checkpoint_every, took / _SHARE)
                    due = time.monotonic() + wait
        except KeyboardInterrupt:
            if self.folder is not None:
                self._save()
            raise

    def _leg(self, due: float) -> bool:
        runner = self.task.runner
        leg = Leg(self.task, self.epoch, self.place, runner=runner)
        started = time.perf_counter()
        total = int(self.task.sizes.sum())
        share = self.words / total
        base_words, base_trained = self.words_done, self.trained
        base_seconds, base_tally = self.seconds, self._epoch_tally

        def update(leg: Leg) -> None:
            spent = time.perf_counter() - started
            self.trained = base_trained + spent
            self.seconds = base_seconds + spent
            self.words_done = base_words + leg.finished * share
            self._epoch_tally = base_tally + leg.tally
            self.place = leg.next

        def watch(leg: Leg) -> bool:
            update(leg)
            self._note(leg.tally + base_tally)
            return self.folder is not None and time.monotonic() >= due

        try:
            return leg.run(min(self.threads, runner.threads), watch)
        finally:
            update(leg)

    def _end_epoch(self) -> None:
        tally = self._epoch_tally
        self._note(tally, force=True)
        self.losses.append(tally.loss / max(1, tally.examples))
        self._epoch_tally = Tally()
        self._noted = (self.trained, self.words_done, Tally())
        self.epoch, self.place = self.epoch + 1, 0
        if self.after_epoch is not None:
            self.after_epoch(self.epoch)

    def _note(self, tally: Tally, *, force: bool = False) -> None:
        """Tell of the progress, and from time to time note it on disk."""
        seconds, words, before = self._noted
        examples = tally.examples - before.examples
        if examples < 0:  # of the epoch before
            examples, before = tally.examples, Tally()
        spent = self.trained - seconds
        speed = (self.words_done - words) / spent if spent > 0 else 0.0
        if examples > 0:
            self._last_loss = (tally.loss - before.loss) / examples
        now = time.monotonic()
        if force or now - self._told >= _TELL_EVERY:
            self._told = now
            self._tell(speed)
        if force or spent >= _NOTE_EVERY:
            self._noted = (self.trained, self.words_done, tally)
            self._write_metrics(speed)

    def _tell(self, speed: float) -> None:
        if self.tell is None:
            return
        done, epochs = self._done(), self.task.config.epochs
        total = float(self.words) * epochs
        mean = self.words_done / self.trained if self.trained > 0 else 0.0
        self.tell(
            Progress(
                "train",
                done * total,
                total,
                self.epoch + 1,
                epochs,
                speed or mean,
                self._last_loss,
                self._rate(),
                (1.0 - done) * total / mean if mean else None,
            )
        )

    def _done(self) -> float:
        sizes = self.task.sizes
        order = self.task.order(self.epoch)
        work = int(sizes[order[: self.place]].sum())
        return (self.epoch + work / int(sizes.sum())) / self.task.config.epochs

    def _rate(self) -> float:
        return self.task.rate(self.epoch, min(self.place, len(self.task.sizes) - 1))

    def _write_metrics(self, speed: float) -> None:
        if self.folder is None:
            return
        line = {
            "seconds": round(self.seconds, 3),
            "epoch": self.epoch + 1,
            "done": round(self._done(), 6),
            "words_per_second": round(speed),
            "loss": self._last_loss,
            "rate": self._rate(),
        }
        try:
            with (self.folder / METRICS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise TrainingError(
                f"{self.folder / METRICS} cannot be written: "
                f"{error.strerror or error}. Free some space, then continue with "
                "resume."
            ) from error

    def _save(self) -> float:
        """Write a checkpoint; the seconds it took."""
        assert self.folder is not None
        started = time.monotonic()
        tally = self._epoch_tally
        state = {
            "seconds": self.seconds,
            "losses": self.losses,
            "tally": [tally.loss, tally.examples, tally.kept],
        }
        checkpoint.write(
            self.folder / checkpoint.FOLDER,
            self.record,
            self.epoch,
            self.place,
            state,
            self.task.tensors(),
        )
        return time.monotonic() - started
