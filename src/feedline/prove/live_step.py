"""One step of a training that goes on, made twice: as the script makes it, and as a
graph from the same start. Everything that it changes and returns is compared bit for
bit, and what stays is what the script's own step has made.

That is possible only in a closed world: the step's source was judged
(`job/source/graph_safe.py`), and all that its graph touches are variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from feedline.errors import CannotPutBack
from feedline.fixes.means.own_step.graph_step import OwnStep
from feedline.job.loops.devices import sync
from feedline.job.loops.loop import CannotRun
from feedline.job.loops.snapshot import random_states, same_draws
from feedline.job.loops.step_state import variables_of_step
from feedline.prove.weights import Array, alike, largest, same_arrays


@dataclass(frozen=True)
class Twice:
    """What one step showed. `largest` is the largest difference, relative to the
    largest weight; `repeats`: from the same start the script's own step gives the same
    bits again (asked only where the graph gave others)."""

    equal: bool
    eager_s: float
    graph_s: float
    largest: float = 0.0
    repeats: bool = True


class LiveStep:
    """Compares single calls of `step` while the script trains with it; `beside` as in
    `same_draws`."""

    def __init__(
        self, step: OwnStep, now: Callable[[], float], *, beside: bool = False
    ) -> None:
        self.step = step
        self.now = now
        self.beside = beside

    def prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The graph for such a call, and the variables that it touches. Raises
        `CannotRun` where it is not known to do the same."""
        with same_draws(beside=self.beside):
            self.step.require(args, kwargs)
        found: dict[int, Any] = {}
        for graph in self.step.graphs():
            try:
                touched = variables_of_step(graph, [])
            except CannotPutBack as reason:
                raise CannotRun(str(reason)) from None
            found |= {id(variable): variable for variable in touched}
        return list(found.values())

    def twice(
        self, variables: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Both:
        return Both(self, variables, args, kwargs)


class Both:
    """One call, twice. `eager` is the script's own step and may raise whatever it
    raises; `compared` leaves everything as that step has left it."""

    def __init__(
        self,
        live: LiveStep,
        variables: list[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.live, self.variables = live, variables
        self.args, self.kwargs = args, kwargs
        self._before = _values(variables)
        self._chance = random_states(beside=live.beside)
        sync()

    def eager(self) -> Any:
        begin = self.live.now()
        self._returned = self.live.step.original(*self.args, **self.kwargs)
        sync()
        self._eager_s = self.live.now() - begin
        return self._returned

    def compared(self) -> Twice:
        """Raises `CannotRun` where the two cannot be compared at all."""
        if random_states(beside=self.live.beside) != self._chance:
            raise CannotRun("it draws random numbers in Python")
        after = _values(self.variables)
        one = [*after, *_leaves(self._returned)]
        try:
            two, returned, graph_s = self._trained(self.live.step.as_graph)
            if not alike(self._returned, returned):
                raise CannotRun("what it returns would not be of the same kind")
            if same_arrays(one, two):
                return Twice(True, self._eager_s, graph_s)
            again, _, _ = self._trained(self.live.step.original)
            repeats = same_arrays(one, again)
            return Twice(False, self._eager_s, graph_s, largest(one, two), repeats)
        finally:
            _assign(self.variables, after)

    def _trained(self, run: Callable[..., Any]) -> tuple[list[Array], Any, float]:
        """All that it leaves, from the same start."""
        _assign(self.variables, self._before)
        with same_draws(beside=self.live.beside):
            begin = self.live.now()
            returned = run(*self.args, **self.kwargs)
            sync()
            seconds = self.live.now() - begin
            # Here: the seed of Keras is one of the variables, and goes back after it.
            left = [*_values(self.variables), *_leaves(returned)]
        return left, returned, seconds


def _values(variables: list[Any]) -> list[Array]:
    return [np.array(variable.numpy()) for variable in variables]


def _leaves(returned: Any) -> list[Array]:
    leaves = tf.nest.flatten(returned, expand_composites=True)
    return [np.array(leaf) for leaf in leaves if isinstance(leaf, tf.Tensor)]


def _assign(variables: list[Any], values: list[Array]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
