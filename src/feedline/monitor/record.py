"""One job's record: steps come in, readings go to the terminal and to TensorBoard,
and what is worth a warning is said once.

Knows the time by a clock and nothing of Keras; `callback.py` and `feedline run --live`
tell it what the job does.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from feedline.errors import FeedlineWarning
from feedline.job.loops.loop import Clock
from feedline.measure.machine import memory
from feedline.monitor import alarms
from feedline.monitor.alarms import Alarm
from feedline.monitor.blame import Pipelines
from feedline.monitor.display import Display
from feedline.monitor.meter import Meter
from feedline.monitor.reading import Reading, Summary, Warned, status
from feedline.monitor.scalars import Scalars

log = logging.getLogger(__name__)

_DRAW_S = 1.0
_MOST_READINGS = 256
_FEW_STEPS = 5


class Record:
    """`bar`: Keras draws a progress bar. `held` is the memory of this process."""

    def __init__(
        self,
        clock: Clock,
        every: float,
        display: Display,
        scalars: Scalars | None = None,
        held: Callable[[], float | None] | None = None,
    ) -> None:
        self.clock = clock
        self.bar = False
        self.spent = 0.0
        self.notes: list[str] = []
        self.meter = Meter(every)
        self._display = display
        self._scalars = scalars
        self._held = held if held is not None else resident
        self._readings: list[Reading] = []
        self._kept = 1  # readings that one of the list stands for
        self._merging: list[Reading] = []
        self._warned: dict[str, Warned] = {}
        self._pipelines = Pipelines()
        self._last = clock.now()
        self._drawn_at = 0.0
        self._told = 0  # the last epoch that has its line

    # --------------------------------------------------------- what the job does

    def begin_epoch(self, at: float | None = None) -> None:
        self._told_epoch()
        self.meter.begin_epoch()
        self._last = self.clock.now() if at is None else at

    def end_epoch(self) -> None:
        """Keras will say so where it draws no bar; a bar it ends by itself."""
        self._display.erase_here()

    def plain(self, ends: Sequence[float], steps: int, iterator: Any) -> None:
        """So many calls ended, and nothing more is known of them."""
        due = False
        for end in ends:
            due |= self.meter.step(max(0.0, end - self._last), steps=steps)
            self._last = end
        self._report(due, iterator)

    def step(
        self,
        now: float,
        *,
        steps: int = 1,
        waited: float | None = None,
        examples: float | None = None,
        own: float = 0.0,
        iterator: Any = None,
    ) -> None:
        """A step ended at `now`; `own` seconds of it were ours."""
        self.spent += own
        due = self.meter.step(
            max(0.0, now - self._last - own),
            steps=steps,
            waited=waited,
            examples=examples,
        )
        self._last = now
        self._report(due, iterator)

    def _report(self, due: bool, iterator: Any) -> None:
        now = self._last
        if due or now >= self._drawn_at + _DRAW_S:
            if due:
                self._read(iterator)
            self._draw(now)
            # What we do here is nobody's step.
            self._last = self.clock.now()
            self.spent += self._last - now

    def end(self) -> None:
        self._told_epoch()
        rest = self.meter.peek()
        if rest is not None and rest.steps >= _FEW_STEPS:
            self._read(None)
        self._display.erase()
        if self._scalars is not None:
            self._guarded(self._scalars.flush)

    # ------------------------------------------------------------------ readings

    def _read(self, iterator: Any) -> None:
        reading = self.meter.close(self._held())
        if reading is None:
            return
        self._keep(reading)
        if self._scalars is not None:
            self._guarded(self._scalars.write, reading)
        if iterator is not None:
            self._guarded(self._pipelines.see, iterator)
        free = memory()[1] or None
        for alarm in alarms.look(self._readings, self.meter.waits, free):
            if alarm.kind not in self._warned:
                self._warn(alarm, reading)

    def _keep(self, reading: Reading) -> None:
        """A long job keeps no more than so many: the list is thinned by half, and
        from then on only every second, fourth, eighth reading is added."""
        self._merging.append(reading)
        if len(self._merging) < self._kept:
            return
        self._merging.clear()
        self._readings.append(reading)
        if len(self._readings) > _MOST_READINGS:
            del self._readings[1::2]
            self._kept *= 2

    def _warn(self, alarm: Alarm, reading: Reading) -> None:
        text, cause = alarm.text, None
        if alarm.kind in ("input", "straggler") and reading.input_share is not None:
            blame = self._guarded(
                self._pipelines.blame,
                reading.step_ms,
                reading.input_share.value,
                drifted=alarm.drifted,
            )
            if blame is not None:
                cause = blame.cause
                named = f"Likely cause: {cause}. " if cause else ""
                text = f"{text} {named}{blame.because}"
        cure = "For proof and the fix: feedline why SCRIPT"
        if cause is not None:
            cure += f"; what it is: feedline explain {cause}"
        if alarm.kind != "memory":
            text = f"{text} {cure}."
        warned = Warned(alarm.kind, text, reading.step, reading.epoch, cause)
        self._warned[alarm.kind] = warned
        log.info("%s", text)
        if self._display.moves:
            self._display.warn(f"feedline: {text}", bar=self.bar)
        else:
            # Who makes errors of warnings wants to hear of them, not to lose his job.
            with suppress(FeedlineWarning):
                warnings.warn(text, FeedlineWarning, stacklevel=2)

    def _guarded(self, call: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """What fails here costs this part of the monitor and nothing else."""
        try:
            return call(*args, **more)
        except Exception as error:
            name = getattr(call, "__qualname__", str(call)).split(".")[0].lower()
            log.info("%s failed", name, exc_info=True)
            self.note(f"{name} failed: {type(error).__name__}: {error}")
            if name == "scalars":
                self._scalars = None
        return None

    def note(self, text: str) -> None:
        line = " ".join(text.split())[:200]
        if line not in self.notes:
            self.notes.append(line)

    # ---------------------------------------------------------------- the person

    def _draw(self, now: float) -> None:
        self._drawn_at = now
        reading = self._latest()
        if reading is not None:
            self._display.draw(status(reading), bar=self.bar)

    def _latest(self) -> Reading | None:
        """The window that is open, once it has a few steps."""
        now = self.meter.peek(self._held())
        if self._readings and (now is None or now.steps < _FEW_STEPS):
            return self._readings[-1]
        return now

    def _told_epoch(self) -> None:
        """Where no line can be drawn over, one for each epoch."""
        self._display.erase()
        if self._display.moves or self.meter.epoch == self._told:
            return
        self._told = self.meter.epoch
        reading = self._latest()
        if reading is not None:
            line = status(reading).replace("feedline ", f"epoch {self.meter.epoch}:", 1)
            self._display.tell(f"feedline  {line}")

    def summary(self) -> Summary:
        meter = self.meter
        readings = list(self._readings)
        rest = meter.peek()
        if rest is not None:
            readings.append(rest)
        steady = readings[1:] or readings
        length = sum(r.steps * r.step_ms for r in steady)
        steps = sum(r.steps for r in steady)
        growth = alarms.growth(self._readings[1:])
        return Summary(
            steps=meter.steps,
            epochs=meter.epoch,
            seconds=meter.seconds,
            step_ms=length / steps if steps else None,
            examples_per_s=(
                1e3 * meter.examples * steps / length
                if meter.examples is not None and length > 0
                else None
            ),
            input_share=meter.whole.estimate(),
            epoch_start_s=meter.epoch_start,
            growth=growth and growth.times(60.0),
            own_share=self.spent / meter.seconds if meter.seconds > 0 else 0.0,
            readings=tuple(readings),
            warnings=tuple(self._warned.values()),
            notes=tuple(self.notes),
        )


def resident() -> float | None:
    """Bytes of memory that this process holds; None where nobody tells."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
        return float(pages * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, IndexError):
        return None
