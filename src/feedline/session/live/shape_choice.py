"""A `tf.function` of the script's that is traced again for every new shape, traced once
for all of them while the script trains.

After its third shape a trace with open lengths is made beside it, and compared with the
script's own traces on the calls so far (`prove/live_shapes.py`); all that is put back.
If they are equal, calls of shapes that have no trace yet go there. A shape that comes
so often that a trace of its own would pay gets one, as it would without us.

Only the choice of each call stands here; `open_trace.py` says whether the trace may be
used, `own_shapes.py` which functions are followed, and what came of it.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from types import FrameType
from typing import Any, Literal

from feedline.fixes.fix import Grade
from feedline.fixes.means.own_step.lengths import computes_with_lengths
from feedline.fixes.means.own_step.relaxed import (
    Call,
    Kind,
    Relaxed,
    by_what_they_tell,
    kind_of,
    options_forbid,
    without_ones,
)
from feedline.job.loops.loop import CannotRun
from feedline.job.loops.snapshot import python_beside
from feedline.job.loops.unfed import UnfedLoop
from feedline.job.script.watch import Watch
from feedline.job.source.dependencies import Dependency
from feedline.job.source.frames import caught
from feedline.prove.live_shapes import Comparison, OpenShapes, put, trace, values_of
from feedline.session.live.open_trace import (
    check_variables,
    compared,
    judged,
    not_allowed,
)
from feedline.session.live.shape_costs import Account, before_s

log = logging.getLogger(__name__)

_SHAPES = 3  # with traces of their own, before one for all is made
_TELLING = 2  # of these, that are no powers of two
_MOST_TRIALS = 3
_LEAST_SHARE = 0.05  # of the time so far that tracing took
_REMEMBERED = 256  # calls, for which batches of other shapes are held on to
_LOST = 2.0  # traces that may be lost before it is taken off

Phase = Literal["watched", "on", "closed", "over"]
"""closed: no new shape takes the open trace any more, after some have"""


@dataclass
class Shape:
    """Calls of one shape. `relaxed` is the open trace that takes them; with none, the
    script's own does."""

    calls: int = 0
    relaxed: Relaxed | None = None


class ShapeChoice:
    """`done` is told once it is known what becomes of the function. `expected`: an
    earlier run has found that it helps."""

    def __init__(
        self,
        loop: Any,
        function: Any,
        call: Callable[..., Any],
        watch: Watch,
        allowed: tuple[Grade, ...],
        done: Callable[[ShapeChoice], None],
        *,
        expected: bool = False,
    ) -> None:
        self.loop, self.watch, self._call = loop, watch, call
        self._function = weakref.ref(function)  # a model may hang on it
        self.allowed, self.done, self.expected = allowed, done, expected
        self.now = watch.clock.now
        self.phase: Phase = "watched"
        self.why_not = ""
        self.grade: Grade = "exact"
        self.found: OpenShapes | None = None
        self.account = Account()
        self.cost_s = 0.0
        self.calls = 0
        self.traces: list[float] = []  # the seconds of calls that were traced
        self.began: float | None = None  # after the first, which makes its variables
        self.predicted = 0.0
        self.lost: Callable[[str], None] = lambda _: None
        self._seen: dict[Kind, Shape] = {}
        self._examples: dict[Kind, Call] = {}
        self._relaxed: list[tuple[Relaxed, tuple[Dependency, ...]]] = []
        self._base = 0  # traces of the first call
        self._variables: list[Any] = []
        self._trials = self._traced_at = 0
        self._open_traces: list[float] = []

    @property
    def function(self) -> Any:
        """None once the script has let it go."""
        return self._function()

    def own(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self.function, *args, **kwargs)

    @property
    def unfed(self) -> bool:
        """Does no dataset feed its loop?"""
        return isinstance(self.loop, UnfedLoop)

    @property
    def opened(self) -> bool:
        """Do some shapes take the open trace?"""
        return self.phase in ("on", "closed")

    @property
    def trace_s(self) -> float:
        """What a call takes that is traced."""
        return median(self.traced_s) if self.traced_s else 0.0

    @property
    def traced_s(self) -> list[float]:
        """Calls that were traced, without the first, which made the variables too."""
        return self.traces[1:] or self._open_traces or self.traces

    @property
    def traced_again(self) -> int:
        return max(0, len(self.traces) - 1)

    @property
    def share(self) -> float:
        """Of the time since the first call, what tracing took."""
        if self.began is None:
            return 0.0
        return sum(self.traces[1:]) / max(self.now() - self.began, 1e-9)

    @property
    def matters(self) -> bool:
        """Is it on, or does tracing again take a good part of the time?"""
        traced = self.traced_again >= _SHAPES - 1 and self.share > _LEAST_SHARE
        return self.phase == "on" or self.account.steps > 0 or traced

    def first(self, call: Call, frame: FrameType, seconds: float) -> None:
        """The call that has made the variables."""
        self.calls += 1
        self.traces.append(seconds)
        self.began = self.now()
        self._base = self.function.experimental_get_tracing_count()
        self._guarded(lambda: self._traced(None, call, frame))

    def call(self, args: Any, kwargs: Any, frame: FrameType) -> Any:
        if self.phase == "over":
            return self._plain(args, kwargs)
        if self.phase == "watched" and not self.expected:
            return self._watched(None, args, kwargs, frame)
        kind = self._kind(args, kwargs)
        if self.phase == "watched" and kind is not None and kind not in self._seen:
            self._guarded(lambda: self._expect(kind, args, kwargs, frame))
        if kind is None or not self.opened:
            return self._watched(kind, args, kwargs, frame)
        shape = self._seen.get(kind)
        if shape is None:
            shape = self._seen[kind] = self._chosen(kind, frame)
            if shape.relaxed is not None:
                return self._first(shape, args, kwargs)
        shape.calls += 1
        if shape.relaxed is None:
            return self._watched(kind, args, kwargs, frame)
        if self._leaves(shape, frame):
            shape.relaxed = None
            self.account.spent += self.trace_s  # which was counted as saved
            return self._watched(kind, args, kwargs, frame)
        return self._open(shape.relaxed, args, kwargs)

    def stop(self, why: str) -> None:
        """The function is traced as it was, for good."""
        self._examples.clear()
        if self.phase == "watched":
            self.phase, self.why_not = "over", why
            self._seen.clear()
            self.done(self)
        elif self.phase == "on":
            self.phase, self.why_not = "closed", why
            self.lost(why)

    # ------------------------------------------------------------ the script's own

    def _plain(self, args: Any, kwargs: Any) -> Any:
        count = self.function.experimental_get_tracing_count
        before, begin = count(), self.now()
        result = self.own(*args, **kwargs)
        self.calls += 1
        if count() > before:
            self.traces.append(self.now() - begin)
            self._traced_at = self.calls
        elif self.calls - self._traced_at > _REMEMBERED:
            self._examples.clear()
        return result

    def _watched(self, kind: Kind | None, args: Any, kwargs: Any, frame: Any) -> Any:
        count = len(self.traces)
        result = self._plain(args, kwargs)
        if self.began is None:
            self.began = self.now()
        if len(self.traces) > count and self.phase != "over":
            self._guarded(lambda: self._traced(kind, (args, kwargs), frame))
        return result

    def _traced(self, kind: Kind | None, call: Call, frame: FrameType) -> None:
        kind = kind or kind_of(call)
        if kind is None:
            if self.traced_again:
                raise CannotRun("it is called with arguments that are not tensors")
            return
        self._seen[kind] = Shape()
        self._examples[kind] = call
        alike = without_ones(
            [each for each in self._examples if each.rest == kind.rest]
        )
        for each in [*self._examples][: -2 * _SHAPES]:
            del self._examples[each]
        if len(alike) >= _SHAPES and self._pays():
            kinds, telling = by_what_they_tell(alike[-2 * _SHAPES :])
            if telling >= _TELLING:
                self._try(kinds, frame)

    def _pays(self) -> bool:
        """Is much of the time lost in tracing, and are there calls left to win it
        back? As many new shapes are expected as were seen."""
        loop, left = self.loop, float("inf")
        if loop.epochs is not None and loop.steps_per_epoch is not None:
            left = loop.epochs * loop.steps_per_epoch - self.calls
        enough = min(len(self.traces), left) >= 2 and self.phase != "closed"
        return enough and self._trials < _MOST_TRIALS and self.share > _LEAST_SHARE

    # -------------------------------------------------------------------- the trial

    def _guarded(self, what: Callable[[], Any]) -> None:
        """What fails in us ends it."""
        begin = self.now()
        try:
            with self.watch.pause():
                what()
        except CannotRun as refusal:
            self._refused(str(refusal))
        except Exception as error:
            log.info("a trial of open shapes failed", exc_info=True)
            self._refused(f"{type(error).__name__}: {error}".partition("\n")[0])
        finally:
            self.cost_s += self.now() - begin

    def _refused(self, why: str) -> None:
        """A wider trace that fails does not cost the one there is."""
        if self.opened:
            self._trials = _MOST_TRIALS
        else:
            self.stop(why)

    def _expect(self, kind: Kind, args: Any, kwargs: Any, frame: FrameType) -> None:
        """The first new shape, in a run that knows that there will be more."""
        known = [each for each in self._examples if each.rest == kind.rest]
        kinds = without_ones([*known, kind])
        if len(kinds) > 1:
            self.expected = False
            self._try(kinds, frame, unknown=(kind, (args, kwargs)))

    def _try(
        self,
        kinds: list[Kind],
        frame: FrameType,
        unknown: tuple[Kind, Call] | None = None,
    ) -> None:
        self._trials += 1
        function = self.function
        if forbidden := options_forbid(function):
            raise CannotRun(forbidden)
        if self.loop.strategy is not None:
            raise CannotRun("it runs under a strategy")
        if caught(frame):
            raise CannotRun("the script would catch an error in it")
        if self._traced_elsewhere():
            raise CannotRun("it is traced in other places too")
        held = judged(function, kinds[-1])
        relaxed = Relaxed(function, kinds)
        calls = [self._examples[each] for each in kinds if each in self._examples]
        example = calls[-1] if unknown is None else unknown[1]
        begin = self.now()
        source = self.loop.source
        beside = source is not None and python_beside(source)
        variables = trace(relaxed, function, example, beside=beside)
        self._open_traces.append(self.now() - begin)
        self._check_lengths(relaxed.trace(example))
        check_variables(self.loop, variables)
        alike = calls[-_SHAPES:]
        comparison = Comparison(
            self.own, relaxed, variables, alike, self.now, beside=beside
        )
        found = compared(comparison, self.trace_s)
        self.found = found
        self.account.own_s, self.account.open_s = found.own_s, found.relaxed_s
        before = before_s(found.own_s, self.trace_s, self.loop)
        self.predicted = before / max(found.relaxed_s, 1e-9)
        if not found.equal:
            self.grade = "numeric"
            if self.grade not in self.allowed:
                raise CannotRun(not_allowed(found))
        self._variables = [*{id(v): v for v in (*self._variables, *variables)}.values()]
        self._relaxed.append((relaxed, held))
        self._examples.clear()  # they hold on to the batches
        if self.phase != "on":
            self.phase = "on"
            self.done(self)

    def _check_lengths(self, graph: Any) -> None:
        computing = computes_with_lengths(graph)
        if not computing:
            return
        self.grade = "numeric"
        if self.grade not in self.allowed:
            raise CannotRun(
                f"{computing} computes with a length of the input, which TensorFlow "
                "may round otherwise where it knows the length; it needs --allow "
                "numeric"
            )

    # ------------------------------------------------------------------- each call

    def _kind(self, args: Any, kwargs: Any) -> Kind | None:
        try:
            return kind_of((args, kwargs))
        except Exception:  # of an object of the script's own
            log.info("a call cannot be told by its kind", exc_info=True)
            return None

    def _in_try(self, frame: FrameType) -> bool:
        with self.watch.pause():
            return caught(frame)

    def _chosen(self, kind: Kind, frame: FrameType) -> Shape:
        """For a shape that is new. Once the script has changed what tracing looks at,
        it has a trace of its own, which sees the change."""
        fits = [
            relaxed
            for relaxed, held in self._relaxed
            if relaxed.takes(kind) and all(each.is_same() for each in held)
        ]
        closed = self.phase != "on" or self._in_try(frame) or self._traced_elsewhere()
        if closed or not fits:
            return Shape()
        shape = Shape(relaxed=fits[0])
        return Shape() if self._earns(shape) else shape

    def _leaves(self, shape: Shape, frame: FrameType) -> bool:
        """Is this shape to have a trace of its own from now on? That would see what
        the script has changed since its first call, when it would have been made."""
        wanted = self.phase != "on" or self._in_try(frame) or self._earns(shape)
        held = next(held for each, held in self._relaxed if each is shape.relaxed)
        return wanted and all(each.is_same() for each in held)

    def _traced_elsewhere(self) -> bool:
        """By a thread of the script's, say, whose calls nobody sees."""
        count = self.function.experimental_get_tracing_count()
        return bool(count - self._base != self.traced_again)

    def _earns(self, shape: Shape) -> bool:
        return self.account.earns(shape.calls, self.loop, self.trace_s)

    def _first(self, shape: Shape, args: Any, kwargs: Any) -> Any:
        """Errors of a shape are the script's own: it is put back, and its own trace
        raises them."""
        begin = self.now()
        kept = values_of(self._variables)
        shape.calls += 1
        assert shape.relaxed is not None
        try:
            with self.watch.pause():
                result = shape.relaxed(*args, **kwargs)
        except Exception as error:
            put(self._variables, kept)
            shape.relaxed = None
            self.stop(f"it raised {type(error).__name__} with open lengths")
            return self._plain(args, kwargs)
        self._note(self.now() - begin, self.trace_s)
        return result

    def _open(self, relaxed: Relaxed, args: Any, kwargs: Any) -> Any:
        begin = self.now()
        with self.watch.pause():
            result = relaxed(*args, **kwargs)
        self._note(self.now() - begin)
        return result

    def _note(self, seconds: float, trace_s: float | None = None) -> None:
        self.account.note(seconds, trace_s)
        if -self.account.saved > _LOST * self.trace_s:
            self.stop("it took longer than tracing each shape")
