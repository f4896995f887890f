"""The user's own `for batch in dataset`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from types import CodeType
from typing import Any

from feedline.job.loops.base import Loop, Variant
from feedline.job.loops.devices import sync
from feedline.job.loops.feeds import Live
from feedline.job.loops.loop import CannotRun, Clock, Experiment, LoopEnded, Ran, Run
from feedline.job.loops.own_steps import Launches, StepMaker, StepOnlyLoop
from feedline.job.source.frames import reads_directly, running
from feedline.job.tfdata.pipeline import Where


class PythonLoop(Loop):
    """The user's own `for batch in dataset`.

    Requests are answered as the user's body runs: `next_batch` is called when
    the body wants its next batch, which is also the moment when the step before
    it has ended.
    """

    kind = "loop"

    def __init__(
        self, where: Where | None, clock: Clock, steps: StepMaker | None = None
    ) -> None:
        super().__init__(where, clock)
        self._make = steps
        self._experiment: Experiment[Any] | None = None
        self._finish: Callable[[Any], None] = lambda _: None
        self._run: Run | None = None
        self._left = 0
        self._begin = self._cpu = self._tracing = 0.0
        self._starts = self._unseen = 0
        self._step: Any = None  # a `Step` and more: only the fixes look into it
        self._bare: StepOnlyLoop | None = None
        self._direct = False
        self.together: Launches | None = None

    def own_step(self) -> Any:
        """The user's function that is the step; raises `CannotRun` where there is
        none to be had."""
        if self._step is None:
            if self.strategy is not None:
                raise CannotRun("a strategy runs the step")
            if self.step_code is None:
                self._step, self.step_code = self._inline_step()
            elif self._make is not None:
                self._step = self._make.called(self.step_code)
            else:
                raise CannotRun("the script's step is only watched")
        return self._step

    def _inline_step(self) -> tuple[Any, CodeType]:
        made, frame = None, running(self.body)
        if self._make is not None and self.where is not None and frame is not None:
            made = self._make.in_loop(self.where, frame)
        if made is None:
            raise CannotRun("the step is written straight into the loop")
        return made

    def reads(self, dataset: Any, iterator: Any, *, of_script: bool = False) -> None:
        self._direct = reads_directly(self.body)
        if self._bare is not None:
            self._bare.direct = self._direct
        super().reads(dataset, iterator, of_script=of_script)

    def rest(self) -> None:
        if not self.measuring:
            super().rest()

    def bare(self) -> StepOnlyLoop | None:
        """Set where nothing but the step stands in the loop's body."""
        if self.where is None or self.strategy is not None or not self._direct:
            return None
        frame = running(self.body)
        if self._bare is None and frame is not None and self._make is not None:
            self._bare = self._make.step_only(frame, self.where.line)
            if self._bare is not None:
                self._bare.direct = True
        return self._bare

    def steps_together(self, number: int) -> Any:
        """So many steps in one launch; raises `CannotRun` where that is not to be
        had. A step that Python runs must be on as a graph by now."""
        found = self.bare()
        if found is None or self._make is None:
            raise CannotRun("the loop contains more than the step")
        own = self._step if self._step is not None and self._step.on else None
        if self.eager and own is None:
            raise CannotRun("the step runs from Python")
        return self._make.launches(found, number, own)

    def take_together(self, iterator: Any, original: Callable[[Any], Any]) -> Any:
        """The job's own next batch, after the steps that go before it."""
        assert self.together is not None
        before = self.together.ran
        batch = self.together.next(iterator, original)
        unseen = self.together.ran - before
        self.steps += unseen
        self.batches += unseen
        self.launched = unseen + 1
        return batch

    def use(self, variant: Variant | None) -> None:
        super().use(variant)
        if self._step is not None:
            self._step.on = variant is not None and variant.as_graph
            self._step.fused = variant is not None and variant.fused
        if variant is not None and variant.live is not None:
            self._read_together(variant.live, variant.steps_per_call)

    def _read_together(self, live: Live, number: int) -> None:
        if number > 1 and live.read is next:
            together = self.steps_together(number)
            live.read, live.unseen = together.next, lambda: together.ran

    @property
    def measuring(self) -> bool:
        return self._experiment is not None

    def start(self, experiment: Experiment[Any], finish: Callable[[Any], None]) -> None:
        self._experiment, self._finish = experiment, finish
        self._advance(None)

    @property
    def fed_by_us(self) -> bool:
        return self.measuring and self._run is not None and self._run.feed != "live"

    def close(self) -> None:
        """The script is over while we were measuring: what is known must do."""
        while self._experiment is not None:
            self._advance(LoopEnded("the loop ended"))

    def next_batch(self) -> Any:
        """The batch for the user's next step, as the request asks."""
        while self._experiment is not None:
            assert self._run is not None
            done = self._run.steps - self._left
            if self._left == 0 or self._late(self._run, done, self._begin):
                self._advance(self._answer(done))
                continue
            if done == 0:
                self._mark()
            if done >= 0 or self.clock.now() >= self.settle_until:
                self._left -= 1
            try:
                return self._fetch()
            except (CannotRun, LoopEnded) as refusal:
                self._advance(refusal)
        raise LoopEnded("nothing more to measure")

    def _fetch(self) -> Any:
        assert self._run is not None
        if self._run.feed == "live":
            return self._live().pull()
        return self.ring(self._run).next()

    def _mark(self) -> None:
        """The measured steps begin now (one went before to settle in)."""
        sync()
        self._starts = len(self._live().starts)
        self._unseen = self._live().unseen()
        self._tracing = self.tracing_seconds()
        self._begin, self._cpu = self.clock.now(), self.clock.cpu()

    def _answer(self, steps: int) -> Ran:
        sync()
        seconds = self.clock.now() - self._begin
        seconds -= sum(self._live().starts[self._starts :])
        traced = self.tracing_seconds() - self._tracing
        steps += self._live().unseen() - self._unseen
        return Ran(seconds, steps, self.clock.cpu() - self._cpu, traced)

    def _advance(self, answer: Ran | Exception | None) -> None:
        """Give the experiment its answer, and answer at once whatever needs no
        step of the user's, until it asks for steps or is done."""
        experiment = self._experiment
        assert experiment is not None
        try:
            while True:
                if isinstance(answer, Exception):
                    run = experiment.throw(answer)
                elif answer is None:
                    run = next(experiment)
                else:
                    run = experiment.send(answer)
                try:
                    answer = self._without_steps(run)
                    if answer is not None:
                        continue
                    self._settle(run)
                    if run.feed != "live":
                        self.ring(run)
                except (CannotRun, LoopEnded) as refusal:
                    answer = refusal
                    continue
                calls = math.ceil(run.steps / self.steps_per_call)
                self._run, self._left = replace(run, steps=calls), calls + 1
                return
        except StopIteration as end:
            self._experiment = None
            self._finish(end.value)
