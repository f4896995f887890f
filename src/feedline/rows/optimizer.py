"""What is replaced on an optimizer, so that its tables are updated by rows.

Keras' `apply` goes: clip, decay the weights, reduce over the replicas, update,
count. Each of these stays Keras' own; replaced are, for the installed tables
and only where their gradient comes by rows,

- `update_step`: on the touched rows (standin.py);
- `_apply_weight_decay`: left out, and done with the update on the touched rows;
- `_clip_gradients` with `global_clipnorm`, and `check_finite` of a
  `LossScaleOptimizer`: Keras makes the gradient dense there, with the rows that
  are named twice added up. Here they are added up without that, after
  `global_clipnorm` in the update.

A gradient that is dense, as that of a table which is also used whole, goes to
Keras as it came.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from feedline.rows import private
from feedline.rows.attributes import Attributes
from feedline.rows.eligible import Table, inner, stored
from feedline.rows.standin import decay_weights, update_rows
from feedline.rows.touched import Touched


def _untraced(method: Callable[..., Any]) -> Callable[..., Any]:
    """Not for AutoGraph to rewrite, when a user's `tf.function` calls it."""
    kept: Callable[..., Any] = tf.autograph.experimental.do_not_convert(method)
    return kept


class RowSparse:
    """One optimizer, and the tables that it updates by rows."""

    def __init__(self, optimizer: Any, tables: Sequence[Table]) -> None:
        self.optimizer = optimizer
        self.update = inner(optimizer)
        self.tables = tuple(tables)
        self.seen_dense: set[str] = set()
        self._undecayed: set[Any] = set()
        # Replicas trace in threads of their own.
        self._now = threading.local()

    def replace(self, attributes: Attributes) -> None:
        attributes.replace(self.update, "apply", self._apply)
        attributes.replace(self.update, "update_step", self._update_step)
        attributes.replace(self.update, private.APPLY_WEIGHT_DECAY, self._weight_decay)
        attributes.replace(self.update, private.CLIP_GRADIENTS, self._clip)
        if self.optimizer is not self.update:
            attributes.replace(self.optimizer, "check_finite", self._check_finite)

    def _table(self, variable: Any) -> Table | None:
        key = private.var_key(self.update, variable)
        for table in self.tables:
            if (
                table.current is not None
                and private.var_key(self.update, table.current) == key
            ):
                return table
        return None

    def _apply(self, apply: Callable[..., Any]) -> Callable[..., Any]:
        @_untraced
        def by_rows(grads: Any, trainable_variables: Any = None) -> Any:
            grads = list(grads)
            if trainable_variables is not None:
                trainable_variables = list(trainable_variables)
            variables = trainable_variables
            if variables is None:
                variables = private.trained(self.update)
            by_rows = [
                (gradient, private.var_key(self.update, variable))
                for gradient, variable in zip(grads, variables, strict=False)
                if isinstance(gradient, tf.IndexedSlices) and self._table(variable)
            ]
            with self._applying(by_rows):
                return apply(grads, trainable_variables)

        return by_rows

    @contextmanager
    def _applying(self, by_rows: list[tuple[Any, Any]]) -> Iterator[None]:
        before = self._by_rows
        self._now.by_rows = by_rows
        try:
            yield
        finally:
            self._now.by_rows = before

    @property
    def _by_rows(self) -> list[tuple[Any, Any]]:
        """The tables' gradients in the `apply` that runs now, and their keys."""
        known: list[tuple[Any, Any]] = getattr(self._now, "by_rows", [])
        return known

    def _is_by_rows(self, gradient: Any) -> bool:
        return any(gradient is known for known, _ in self._by_rows)

    def _update_step(self, update_step: Callable[..., Any]) -> Callable[..., Any]:
        @_untraced
        def by_rows(gradient: Any, variable: Any, learning_rate: Any) -> Any:
            table = self._table(variable)
            if table is None:
                return update_step(gradient, variable, learning_rate)
            decay = private.var_key(self.update, variable) in self._undecayed
            if not isinstance(gradient, tf.IndexedSlices):
                self.seen_dense.add(table.name)
                if decay:
                    decay_weights(self.update, variable)
                return update_step(gradient, variable, learning_rate)
            summed = bool(self.update.global_clipnorm)
            if self._is_by_rows_already and not decay and not summed:
                return update_step(gradient, variable, learning_rate)
            return update_rows(
                self.update,
                gradient,
                variable,
                learning_rate,
                decay=decay,
                summed=summed,
            )

        return by_rows

    @property
    def _is_by_rows_already(self) -> bool:
        """Plain SGD, where XLA compiles it: Keras writes the gradient's rows, one
        by one. Without XLA it does so on several threads, in any order."""
        sgd = isinstance(self.update, keras.optimizers.SGD)
        return sgd and not self.update.momentum and private.compiled_by_xla()

    def _weight_decay(self, decay: Callable[..., Any]) -> Callable[..., Any]:
        @_untraced
        def without_tables(variables: Any) -> Any:
            if self.update.weight_decay is None:
                return decay(variables)
            by_rows = {key for _, key in self._by_rows}
            now = []
            for variable in variables:
                key = private.var_key(self.update, variable)
                self._undecayed.discard(key)
                if key not in by_rows:
                    now.append(variable)
                elif private.decays(self.update, stored(variable)):
                    self._undecayed.add(key)
            return decay(now)

        return without_tables

    def _clip(self, clip: Callable[..., Any]) -> Callable[..., Any]:
        @_untraced
        def by_rows(grads: Any) -> Any:
            if not self.update.global_clipnorm:
                return clip(grads)
            # The norm is that of all mentions of a row, here as in Keras.
            clipped = clip([g.values if self._is_by_rows(g) else g for g in grads])
            return [
                tf.IndexedSlices(new, old.indices, old.dense_shape)
                if self._is_by_rows(old)
                else new
                for old, new in zip(grads, clipped, strict=True)
            ]

        return by_rows

    def _check_finite(self, check_finite: Callable[..., Any]) -> Callable[..., Any]:
        @_untraced
        def by_rows(grads: Any) -> Any:
            return check_finite(
                [
                    Touched.by(g).summed(g) if isinstance(g, tf.IndexedSlices) else g
                    for g in grads
                ]
            )

        return by_rows
