"""The step of a loop of the script's own, tried as a graph on the training's own steps.

Nothing is rehearsed and nothing is trained twice for good. Some steps are made both
ways from the same start and compared bit for bit (`prove/live_step.py`); what the
script's own step has made stays. If all are equal the two train the same bits, so from
then on they take turns until an interval shows which is faster, and every one of these
steps is the job's own work. Then the graph stays on, or the step is as it was.

A batch of another shape needs another graph. It is made once such batches have cost
Python as much as making a graph takes, and compared before it is used.

What each call is for stands here; the turns are timed in `turns.py`, and what comes of
it is written down by `step_found.py`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from statistics import median
from types import FrameType
from typing import Any, Literal

from feedline.fixes.fix import Grade
from feedline.fixes.means.own_step.graph_step import OwnStep, kind_of
from feedline.job.loops.feeds import batch_size
from feedline.job.loops.loop import CannotRun
from feedline.job.loops.python import PythonLoop
from feedline.job.loops.snapshot import nbytes, python_beside
from feedline.job.script.watch import Watch
from feedline.job.source.frames import caught
from feedline.measure.experiment import estimate
from feedline.measure.machine import memory
from feedline.prove.live_step import LiveStep, Twice
from feedline.prove.proof import Faster
from feedline.session.live.input_trial import Step
from feedline.session.live.turns import Turn, Turns

log = logging.getLogger(__name__)

_COMPARED_AT = (0, 2, 5)  # calls since the trial began; one more ends the turns
_FEWEST_ROUNDS = 2  # of a training that ends meanwhile
_LEAST_WAITING = 0.15
_COPIES = 8  # of the variables that must fit in the free memory

Phase = Literal["same", "turns", "last", "on", "over"]
Args = tuple[Any, ...]
Given = dict[str, Any]


class StepTrial:
    """`done` is told once it is known what becomes of the step; `on` whether it runs
    as a graph. `steps` and `seconds` are those of the training since then."""

    def __init__(
        self,
        loop: PythonLoop,
        watch: Watch,
        allowed: tuple[Grade, ...],
        done: Callable[[StepTrial], None],
    ) -> None:
        self.loop, self.watch, self.allowed, self.done = loop, watch, allowed, done
        self.now = watch.clock.now
        self.step: OwnStep = loop.own_step()
        self.phase: Phase = "same"
        self.why_not = ""
        self.grade: Grade = "exact"
        self.compared: list[Twice] = []
        self.faster: Faster | None = None
        self.turns = Turns()
        self.batch_size: int | None = None
        self._last: tuple[Args, Given] = ((), {})
        self.cost_s = self.trace_s = 0.0
        self.steps, self.seconds = 0, 0.0
        beside = python_beside(loop.source)
        self._live = LiveStep(self.step, self.now, beside=beside)
        self._variables: list[Any] = []
        self._calls = 0
        self._kinds: dict[Any, bool] = {}  # may calls of this kind be a graph?
        self._spent: dict[Any, float] = {}
        self._began: tuple[float, int, bool] | None = None
        self._busy = False
        self._thread = threading.get_ident()
        self.step.tell = self._lost
        self.step.led = self._lead

    @property
    def on(self) -> bool:
        return self.phase == "on"

    @property
    def repeats(self) -> bool:
        return all(each.repeats for each in self.compared)

    @property
    def equal(self) -> bool:
        return bool(self.compared) and all(each.equal for each in self.compared)

    def waits(self) -> bool:
        """Does a step as a graph wait for its batch, for a good part of its time?"""
        if self.faster is None or not all(self.turns.inside.values()):
            return False
        period = self.faster.after.value / 1e3
        return period - self._body_s() > _LEAST_WAITING * period

    def as_step(self) -> Step:
        """The graph on the batch of the last call, to be made again and again."""
        args, kwargs = self._last

        def call() -> Any:
            return self.step.as_graph(*args, **kwargs)

        return Step(call, self._variables, self._body_s())

    def _body_s(self) -> float:
        """The graph, and the Python that the loop has around its step."""
        assert self.faster is not None
        waited = median(self.loop.waits) if self.loop.waits else 0.0
        around = (
            self.faster.before.value / 1e3 - median(self.turns.inside[False]) - waited
        )
        return median(self.turns.inside[True]) + max(0.0, around)

    def stop(self, why: str) -> None:
        """The step is as it was, for good."""
        if self.phase == "over":
            return
        told = self.phase in ("same", "turns", "last")
        self.phase, self.why_not = "over", why
        self.step.led = None
        self.step.remove()
        if told:
            self.done(self)

    def _lost(self, why: str) -> None:
        self.step.broken = why
        if self.phase == "on":
            self.lost(why)

    lost: Callable[[str], None] = staticmethod(lambda _: None)
    """Told where the graph was on and can no longer be used."""

    # ------------------------------------------------------------------- each call

    def _lead(self, args: Args, kwargs: Given, frame: FrameType) -> Args | None:
        """What the step returns, in a tuple; None where Python is to run it."""
        if self._busy or threading.get_ident() != self._thread:
            return None
        self._busy = True
        try:
            if self.step.broken:
                self.stop(self.step.broken)
                return None
            if self._in_try(frame):
                return None
            self._note_period()
            if self.phase == "on":
                return self._trained(args, kwargs)
            return self._tried(args, kwargs)
        finally:
            self._busy = False

    def _in_try(self, frame: FrameType) -> bool:
        """An error in a graph comes from another place and may leave more done."""
        found = self._guarded(lambda: caught(frame))
        if found and self.phase != "on":
            self.stop("the script would catch an error in it")
        return found is not False

    def _guarded(self, what: Callable[[], Any]) -> Any:
        """What fails in us ends the trial; None then."""
        try:
            with self.watch.pause():
                return what()
        except CannotRun as refusal:
            self.stop(str(refusal))
        except Exception as error:
            log.info("the trial failed", exc_info=True)
            self.stop(f"{type(error).__name__}: {error}".partition("\n")[0])
        return None

    def _tried(self, args: Args, kwargs: Given) -> Args | None:
        key = self._key(args, kwargs)
        if self._kinds and self._kinds.get(key) is not True:
            return None
        if self.phase == "same":
            self._calls += 1
            if self._calls - 1 in _COMPARED_AT:
                return self._both(args, kwargs, self._judge)
            return None
        if self.phase == "last":
            return self._both(args, kwargs, self._decide)
        turn = self._guarded(self._next_turn)
        if turn is None:
            return None
        self._began = (self.now(), self.loop.passes, turn.graph)
        turn.calls += 1
        begin = self.now()
        if turn.graph:
            result = self._as_graph(args, kwargs)
        else:
            result = (self.step.original(*args, **kwargs),)
        turn.inside.append(self.now() - begin)
        return result

    def _key(self, args: Args, kwargs: Given) -> Any:
        """The kind of this call; None where Python is to run it."""
        try:
            return kind_of(args, kwargs)
        except Exception:  # of an object of the script's own
            log.info("a call cannot be told by its kind", exc_info=True)
            return None

    def _as_graph(self, args: Args, kwargs: Given) -> Args | None:
        """Its own errors are the script's: the graph has the same operations."""
        with self.watch.pause():
            if not self.step.fits(args, kwargs):
                return None
            result = (self.step.as_graph(*args, **kwargs),)
        self.watch.trains(self.loop)
        return result

    def _both(
        self, args: Args, kwargs: Given, then: Callable[[Twice], None]
    ) -> Args | None:
        """This step both ways; what the script's own has made stays."""
        begin = self.now()

        def prepare() -> Any:
            key = kind_of(args, kwargs)
            if not self._kinds.get(key):
                self._variables = self._live.prepare(args, kwargs)
                self._check_memory()
                self.batch_size = self.batch_size or batch_size((args, kwargs))
                self._kinds[key] = True
            return self._live.twice(self._variables, args, kwargs)

        self._last = (args, kwargs)
        both = self._guarded(prepare)
        if both is None:
            return None
        if not self.compared:
            self.trace_s = self.now() - begin
        self.cost_s += self.now() - begin
        result = both.eager()
        begin = self.now()
        found = self._guarded(both.compared)
        self.cost_s += self.now() - begin
        if found is not None:
            self._guarded(lambda: then(found))
        return (result,)

    def _check_memory(self) -> None:
        if _COPIES * nbytes(self._variables) > memory()[1]:
            raise CannotRun("copies of its variables would not fit in memory")

    # --------------------------------------------------------------------- verdicts

    def _judge(self, found: Twice) -> None:
        """Is the graph the same? After enough steps, it is timed."""
        self.compared.append(found)
        if not found.equal:
            self.grade = "numeric"
        if len(self.compared) < len(_COMPARED_AT):
            return
        if self.grade not in self.allowed:
            self._refuse()
            return
        self.phase = "turns"

    def _refuse(self) -> None:
        """What it would gain is known from the very steps that were compared; the
        first one of the graph's allocates."""
        pairs = self.compared[1:]
        before = [1e3 * each.eager_s for each in pairs]
        after = [1e3 * each.graph_s for each in pairs]
        gains = [a / max(b, 1e-9) for a, b in zip(before, after, strict=True)]
        self.turns.inside = {
            False: [each / 1e3 for each in before],
            True: [each / 1e3 for each in after],
        }
        self.turns.timed = 2 * len(pairs)
        self.faster = Faster(estimate(before), estimate(after), estimate(gains))
        self.stop(self._not_allowed())

    def _not_allowed(self) -> str:
        if not self.repeats:
            return (
                "the step does not give the same bits twice in TensorFlow, so its "
                "graph cannot be compared with it; it needs --allow numeric"
            )
        most = max(each.largest for each in self.compared)
        return (
            f"the weights differ by {most:.1e} of the largest; it needs --allow numeric"
        )

    def _next_turn(self) -> Turn | None:
        """The turn that this call belongs to; None where the turns are over."""
        turn = self.turns.next(self.compared[-1].eager_s)
        if turn is None:
            self._end_turns()
        return turn

    def _end_turns(self) -> None:
        self.faster = self.turns.result()
        if self.faster.proved:
            self.phase = "last"
        else:
            self.stop("not measured faster")

    def finish(self) -> None:
        """The training is over. What its last turns showed is good for the next run."""
        if self.phase not in ("same", "turns", "last"):
            return
        if self.phase == "same" or self.turns.rounds < _FEWEST_ROUNDS:
            self.stop("the training ended before it could be timed")
            return
        self._end_turns()
        if self.phase == "last":
            self.phase = "on"
            self.done(self)

    def _decide(self, found: Twice) -> None:
        """The last comparison, after all the turns."""
        self.compared.append(found)
        if not found.equal and self.grade == "exact":
            self.grade = "numeric"
            if self.grade not in self.allowed:
                self.stop(self._not_allowed())
                return
        self.phase = "on"
        self._began = None
        self.done(self)
        self._last = ((), {})

    # -------------------------------------------------------------------- afterwards

    def _trained(self, args: Args, kwargs: Given) -> Args | None:
        key = self._key(args, kwargs)
        self._began = (self.now(), self.loop.passes, True)
        if self._kinds.get(key):
            return self._as_graph(args, kwargs)
        if key is None or key in self._kinds or not self.step.knows(key):
            return None
        return self._another_kind(key, args, kwargs)

    def _another_kind(self, key: Any, args: Args, kwargs: Given) -> Args | None:
        if self._spent.get(key, 0.0) < self.trace_s:
            begin = self.now()
            result = self.step.original(*args, **kwargs)
            self._spent[key] = self._spent.get(key, 0.0) + self.now() - begin
            return (result,)

        def judge(found: Twice) -> None:
            self._kinds[key] = found.equal or self.grade == "numeric"

        return self._both(args, kwargs, judge)

    def _note_period(self) -> None:
        """From one call to the next, unless the pass over the data ended between."""
        began, self._began = self._began, None
        if began is None or began[1] != self.loop.passes:
            return
        period = self.now() - began[0]
        if self.phase == "on":
            self.steps += 1
            self.seconds += period
        else:
            self.turns.note_period(period)
