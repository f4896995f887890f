"""`Monitor`: tells `record.py` what a job does, as a Keras callback or around a loop.

The clock stands around the model's train function, as the watch of `feedline why`
does it: the callback has no hooks for batches, so Keras keeps its fast path. When
fit is over the model is as it was. If anything here fails, the training goes on.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO

import tensorflow as tf

from feedline.errors import FeedlineError
from feedline.job import marks
from feedline.measure.clock import SystemClock
from feedline.monitor.display import Display
from feedline.monitor.probe import CannotProbe, Pace, Probe, take
from feedline.monitor.reading import Summary
from feedline.monitor.record import Record
from feedline.monitor.scalars import Scalars
from feedline.report.text import printable

log = logging.getLogger(__name__)

EVERY_S = 5.0
_BUDGET = 0.001
_FIRST_CALLS = 3
_DOZEN = 12
_LATEST_S = 0.25
_SIZES_EVERY = 16


class Monitor(tf.keras.callbacks.Callback):  # type: ignore[misc]
    """Watches a training job while it runs.

    >>> model.fit(dataset, callbacks=[feedline.Monitor("logs")])

    >>> with feedline.Monitor() as monitor:
    ...     for batch in monitor.watch(dataset):
    ...         train(batch)

    Shows examples per second, the share of the step that waits for input and the
    memory, and warns once of each: the job waits, or has come to wait; steps become
    slower; the process grows. `log_dir` gets TensorBoard scalars, one reading every
    `every` seconds. `live` is True for a line that is kept up to date, False for
    none, and None for such a line on a terminal and one per epoch elsewhere.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        every: float = EVERY_S,
        live: bool | None = None,
    ) -> None:
        super().__init__()
        if not _is_seconds(every):
            raise FeedlineError(
                f"every={every!r} must be a number of seconds above 0, such as every=5"
            )
        if live not in (None, True, False):
            raise FeedlineError(f"live={live!r} must be True, False or None")
        self._every = float(every)
        self._clock: Any = SystemClock()
        self._display = Display(live)
        self._scalars = None if log_dir is None else Scalars(log_dir)
        self._record: Record | None = None
        self._watched: Any = lambda: None
        self._pace = Pace(_BUDGET)
        self._source: Any = None
        self._calls = 0
        self._ends: list[float] = []  # of calls that the record has not heard of
        self._on = False

    # --------------------------------------------------------------- what it found

    @property
    def summary(self) -> Summary:
        """The training so far, as plain data."""
        return Summary() if self._record is None else self._record.summary()

    def show(self, file: TextIO | None = None) -> None:
        """Print the summary."""
        out = sys.stdout if file is None else file
        found = self.summary
        lines = [*found.lines(), *(f"warned: {each.text}" for each in found.warnings)]
        out.write("".join(f"{printable(line)}\n" for line in lines))

    # ------------------------------------------------------------------ Model.fit

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        self._safely(self._begin, self.model)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._safely(self._begin_epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        if self._on and self._record is not None:
            self._safely(self._caught_up)
            self._safely(self._record.end_epoch)

    def on_train_end(self, logs: Any = None) -> None:  # noqa: ARG002
        self._safely(self._end)

    def _begin(self, watched: Any) -> None:
        """A second fit of the same model goes on with the first."""
        self._ends.clear()
        if self._record is None or self._watched() is not watched:
            steps = self._record.meter.steps if self._record is not None else 0
            self._record = Record(
                self._clock, self._every, self._display, self._scalars
            )
            self._record.meter.steps = steps
            self._pace = Pace(_BUDGET)
            self._calls = 0
            with contextlib.suppress(TypeError):
                self._watched = weakref.ref(watched)
        verbose = (getattr(self, "params", None) or {}).get("verbose")
        self._record.bar = verbose in (1, "auto")
        self._on = True

    def _begin_epoch(self) -> None:
        if not self._on or self._record is None:
            return
        self._caught_up()
        self._record.begin_epoch()
        self._source = None
        model = self.model
        if not hasattr(model, "distribute_strategy"):
            self._record.note("its steps: the model is not trained by TensorFlow")
            return
        self._unwrap()
        model.train_function = self._around(model.train_function)

    def _end(self) -> None:
        self._unwrap()
        self._caught_up()
        self._on = False
        if self._record is not None:
            self._record.end()

    def _unwrap(self) -> None:
        """Take our clock away, unless somebody has put another one around it."""
        model: Any = getattr(self, "model", None)
        train: Any = getattr(model, "train_function", None)
        if getattr(train, marks.MONITOR, None) is self:
            model.train_function = getattr(train, marks.ORIGINAL)

    def _around(self, train: Callable[[Any], Any]) -> Callable[[Any], Any]:
        record, clock = self._record, self._clock
        assert record is not None
        per_call = _steps_per_call(self.model)
        ends = self._ends

        def step(iterator: Any) -> Any:
            if not self._on or not self._is_ours(iterator):
                return train(iterator)
            self._calls += 1
            try:
                if self._calls <= _FIRST_CALLS or not self._pace.due(self._calls):
                    result = train(iterator)
                    # Noted by the dozen: code that was not run for a whole step is
                    # cold, and costs several times its own time.
                    ends.append(clock.now())
                    if len(ends) >= _DOZEN or ends[-1] > ends[0] + _LATEST_S:
                        self._safely(self._caught_up)
                    return result
                self._safely(self._caught_up)
                began = clock.now()
                fed, probe = self._fed(iterator, per_call)
                result = train(fed)
            except (StopIteration, tf.errors.OutOfRangeError):
                self._safely(self._caught_up)
                raise
            except BaseException:
                self._safely(self._end)
                raise
            self._safely(self._stepped, began, iterator, per_call, probe)
            return result

        setattr(step, marks.ORIGINAL, train)
        setattr(step, marks.MONITOR, self)
        return step

    def _fed(self, iterator: Any, steps: int) -> tuple[Any, Probe | None]:
        """What the step is to read from: its iterator, or now and then a stand-in.
        What the input itself raises is the user's, and goes on to him."""
        record = self._record
        assert record is not None
        try:
            probe = take(iterator, steps, self._clock)
            return (iterator, None) if probe is None else (probe.iterator, probe)
        except CannotProbe as reason:
            self._pace.never()
            record.note(f"how long a step waits for its input: {reason}")
            return (iterator if reason.batches is None else reason.batches), None

    def _is_ours(self, iterator: Any) -> bool:
        """Is this still the fit that we are a callback of? One that was ended by an
        error in another callback leaves our clock behind, and an epoch has one
        iterator."""
        if self._source is None:
            try:
                self._source = weakref.ref(iterator)
            except TypeError:
                self._source = lambda: iterator
        elif self._source() is not iterator:
            self._safely(self._end)
        return self._on

    def _stepped(self, began: float, iterator: Any, steps: int, probe: Any) -> None:
        record = self._record
        assert record is not None
        now = self._clock.now()
        if probe is None:
            record.step(now, steps=steps, iterator=iterator)
            return
        record.step(
            now,
            steps=steps,
            waited=probe.waited,
            examples=probe.examples,
            own=probe.cost,
            iterator=iterator,
        )
        call = steps * record.meter.typical() or now - began
        self._pace.probed(self._calls, probe.cost, call)

    def _caught_up(self) -> None:
        """Tell the record of the calls that have ended since."""
        ends, self._ends[:] = self._ends[:], []
        iterator = self._source() if self._source is not None else None
        if ends and self._on and self._record is not None:
            self._record.plain(ends, _steps_per_call(self.model), iterator)

    # --------------------------------------------------------- a loop of one's own

    def __enter__(self) -> Monitor:
        self._safely(self._begin, self)
        return self

    def __exit__(self, *_: object) -> None:
        self._safely(self._end)

    def watch(self, dataset: Iterable[Any]) -> Iterator[Any]:
        """The dataset's own batches; each pass over it counts as an epoch."""
        if not self._on:
            self._safely(self._begin, self)
        record, clock = self._record, self._clock
        if record is not None:
            self._safely(record.begin_epoch)
        iterator = iter(dataset)
        waited: float | None = None
        examples: int | None = None
        while True:
            asked = clock.now()
            if waited is not None and self._on and record is not None:
                self._safely(self._looped, asked, waited, examples, iterator)
                asked = clock.now()
            try:
                batch = next(iterator)
            except StopIteration:
                return
            waited = clock.now() - asked
            if record is not None and record.meter.calls % _SIZES_EVERY == 0:
                examples = examples_in(batch)
            yield batch

    def _looped(
        self, now: float, waited: float, examples: int | None, iterator: Any
    ) -> None:
        record = self._record
        assert record is not None
        record.step(now, waited=waited, examples=examples, iterator=iterator)

    # ---------------------------------------------------------------------- safety

    def _safely(self, call: Callable[..., None], *args: Any) -> None:
        """What fails in the monitor ends the monitor, not the training."""
        try:
            call(*args)
        except Exception as error:
            self._on = False
            with contextlib.suppress(Exception):
                self._unwrap()
            log.warning(
                "feedline's monitor has failed and stopped; the training goes on: "
                "%s: %s",
                type(error).__name__,
                error,
                exc_info=log.isEnabledFor(logging.DEBUG),
            )


def _is_seconds(value: Any) -> bool:
    return isinstance(value, int | float) and 0 < value < math.inf


def _steps_per_call(model: Any) -> int:
    train = getattr(model, "train_function", None)
    while train is not None:  # `feedline.tune` may launch more than the model says
        launched = getattr(train, marks.STEPS, None)
        if isinstance(launched, int):
            return launched
        train = getattr(train, marks.ORIGINAL, None)
    try:
        return max(1, int(getattr(model, "steps_per_execution", 1) or 1))
    except (TypeError, ValueError):
        return 1


def examples_in(batch: Any) -> int | None:
    from feedline.job.loops.feeds import batch_size

    try:
        return batch_size(batch)
    except Exception:  # a batch may be anything
        return None
