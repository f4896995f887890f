"""Is one trace for several shapes the same as a trace for each? Single steps, made both
ways from the same start while the script trains, and everything that they change and
return compared bit for bit. Nothing of it stays.

Numbers that hold for a length, such as a mean, may be equal by chance: `x / n` and
`x * (1 / n)` often are. So each call is compared from several starts: the variables as
they are, and moved a little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import tensorflow as tf

from feedline.errors import CannotPutBack
from feedline.fixes.means.own_step.relaxed import Call, Relaxed
from feedline.job.loops.devices import sync
from feedline.job.loops.loop import CannotRun
from feedline.job.loops.snapshot import random_states, same_draws
from feedline.job.loops.step_state import draws_by_itself, variables_of_step
from feedline.job.private import tensorflow as tf_private
from feedline.prove.weights import Array, alike, largest, same_arrays

_MOVED = 1e-3
_FEWEST_STARTS = 3
_MOST_STARTS = 6


@dataclass(frozen=True)
class OpenShapes:
    """What comparing showed. `own_s` and `relaxed_s` are one step of each; `repeats`:
    the script's own gives the same bits again (asked only where they differ)."""

    equal: bool
    own_s: float
    relaxed_s: float
    compared: int
    largest: float = 0.0
    repeats: bool = True


def trace(
    relaxed: Relaxed, function: Any, call: Call, *, beside: bool = False
) -> list[Any]:
    """Trace it; the variables that it and the script's own traces touch. Raises
    `CannotRun` where a step might leave more behind than these. `beside` as in
    `same_draws`."""
    with same_draws(beside=beside):
        before = random_states(beside=beside)
        try:
            graph = relaxed.trace(call)
        except (CannotRun, CannotPutBack):
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise CannotRun(f"it cannot be traced with open lengths: {said}") from error
        if random_states(beside=beside) != before:
            raise CannotRun("tracing it draws random numbers")
    graphs = [each.graph for each in tf_private.list_all_concrete_functions(function)()]
    found: dict[int, Any] = {}
    for each in (graph, *graphs):
        if draws_by_itself(each):
            raise CannotRun("it draws from a state that an operation keeps")
        try:
            touched = variables_of_step(each, [])
        except CannotPutBack as reason:
            raise CannotRun(str(reason)) from None
        found |= {id(variable): variable for variable in touched}
    if any("distribute" in type(each).__module__ for each in found.values()):
        raise CannotRun("it runs under a strategy")
    return list(found.values())


class Comparison:
    """Of `own`, the script's function, and `relaxed`, on these calls."""

    def __init__(
        self,
        own: Callable[..., Any],
        relaxed: Relaxed,
        variables: list[Any],
        calls: Sequence[Call],
        now: Callable[[], float],
        *,
        beside: bool = False,
    ) -> None:
        self.own, self.relaxed, self.now = own, relaxed, now
        self.beside = beside
        self.variables, self.calls = variables, calls

    def made(self, seconds: float) -> OpenShapes:
        """In about so many seconds. Everything is as it was then, also where it
        raises."""
        real = values_of(self.variables)
        try:
            with same_draws(beside=self.beside):
                return self._compare(real, seconds)
        finally:
            put(self.variables, real)

    def _compare(self, real: list[Array], seconds: float) -> OpenShapes:
        random = np.random.default_rng(5)
        own_s: list[float] = []
        relaxed_s: list[float] = []
        until, starts, compared = self.now() + seconds, 0, 0
        while starts < _MOST_STARTS:
            if starts >= _FEWEST_STARTS and self.now() > until:
                break
            start = real if starts == 0 else [_moved(each, random) for each in real]
            starts += 1
            for call in self.calls:
                one, returned, first_s = self._trained(self.own, start, call)
                two, other, second_s = self._trained(self.relaxed, start, call)
                if self.relaxed.traces != 1:
                    raise CannotRun("TensorFlow traces it again with open lengths")
                compared += 1
                if starts > 1:  # the first call of each prepares its graph
                    own_s.append(first_s)
                    relaxed_s.append(second_s)
                if not alike(returned, other):
                    raise CannotRun("what it returns would not be of the same kind")
                if not same_arrays(one, two):
                    again, _, first_s = self._trained(self.own, start, call)
                    _, _, second_s = self._trained(self.relaxed, start, call)
                    return OpenShapes(
                        False,
                        median([*own_s, first_s]),
                        median([*relaxed_s, second_s]),
                        compared,
                        largest(one, two),
                        same_arrays(one, again),
                    )
        return OpenShapes(True, median(own_s), median(relaxed_s), compared)

    def _trained(
        self, run: Callable[..., Any], start: list[Array], call: Call
    ) -> tuple[list[Array], Any, float]:
        put(self.variables, start)
        args, kwargs = call
        sync()
        begin = self.now()
        returned = run(*args, **kwargs)
        sync()
        seconds = self.now() - begin
        leaves = tf.nest.flatten(returned, expand_composites=True)
        arrays = [np.array(leaf) for leaf in leaves if isinstance(leaf, tf.Tensor)]
        return [*values_of(self.variables), *arrays], returned, seconds


def values_of(variables: list[Any]) -> list[Array]:
    return [np.array(variable.numpy()) for variable in variables]


def put(variables: list[Any], values: list[Array]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def _moved(value: Array, random: np.random.Generator) -> Array:
    """A little, and away from zero: what must not be negative stays so."""
    if value.dtype.kind != "f":
        return value
    factor = 1 + _MOVED * random.random(value.shape)
    return (value * factor).astype(value.dtype)
