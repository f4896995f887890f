"""Put row-sparse updates into a model, and take them out again.

Nothing that can be saved changes: neither the classes of the model, its layers
and its optimizer, nor their configs, variables and names. Moments stay in
Keras' own variables, so checkpoints of a run with this fit one without, and
the other way round.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from feedline.rows.attributes import Attributes
from feedline.rows.eligible import (
    CannotInstall,
    Table,
    check,
    inexact,
    inner,
    listed,
    stored,
    tables_in,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from feedline.rows.optimizer import RowSparse

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Installed:
    """What is updated by rows. As a context, until its end.

    `tables` are the names of the layers, `exact` whether their weights come out
    as Keras' own, bit for bit; where not, `difference` says why. `left` are the
    tables that Keras goes on updating, with the reasons.
    """

    tables: tuple[str, ...]
    exact: bool
    optimizer: Any
    difference: str | None = None
    left: Mapping[str, str] = field(default_factory=dict)
    _row_sparse: RowSparse | None = field(default=None, repr=False)
    _attributes: Attributes = field(default_factory=Attributes, repr=False)
    _models: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def dense(self) -> tuple[str, ...]:
        """Tables whose gradient turned out to be dense, because something uses
        them whole: Keras updates them as ever. Known once a step was traced."""
        seen = self._row_sparse.seen_dense if self._row_sparse else set()
        return tuple(name for name in self.tables if name in seen)

    def remove(self) -> None:
        """Everything as before; weights and moments as they are now. What was
        traced meanwhile by a `tf.function` of the user's stays as traced."""
        self._attributes.restore()
        if self._row_sparse is not None:
            _read_without_copy(self._row_sparse)
        for model in self._models:
            _trace_again(model)

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def install(items: Any, *, optimizer: Any = None, lazy: bool = True) -> Installed:
    """Update the embedding tables of a model by the rows that a batch touches.

    `items` is a compiled Keras model, built or not. For a training loop of one's
    own: a model, a layer, a variable or several of these, with the `optimizer`
    whose `apply` or `apply_gradients` is called; functions traced before do not
    see the change.

    Plain SGD and Adagrad come out as Keras' own, bit for bit. The others are
    lazy: a row that no batch touches keeps its value and its moments until one
    does. With `lazy=False` only what is exact is installed.

    Raises `CannotInstall`, and changes nothing, where no table is left.
    """
    import keras

    items = listed(items)
    models = tuple(item for item in items if isinstance(item, keras.Model))
    if optimizer is None:
        if len(models) != 1:
            raise CannotInstall(
                "the optimizer is not known: give a compiled model, or "
                "install(layers, optimizer=optimizer)."
            )
        optimizer = getattr(models[0], "optimizer", None)
    check(optimizer)
    tables, left, difference = _choose(items, optimizer, lazy)
    if not tables:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left.items())
        raise CannotInstall(
            f"no embedding table can be updated by rows ({reasons})."
            if left
            else "there is no Embedding layer in it; layers that are made only when "
            "the model is built are not seen before."
        )

    from feedline.rows.lookup import by_rows
    from feedline.rows.optimizer import RowSparse

    attributes, row_sparse = Attributes(), RowSparse(optimizer, tables)
    try:
        row_sparse.replace(attributes)
        for table in tables:
            if table.layer is not None:
                attributes.replace(table.layer, "call", partial(by_rows, table.layer))
        for model in models:
            _trace_again(model)
    except BaseException:
        attributes.restore()
        raise
    return Installed(
        tables=tuple(table.name for table in tables),
        exact=difference is None,
        optimizer=optimizer,
        difference=difference,
        left=MappingProxyType(left),
        _row_sparse=row_sparse,
        _attributes=attributes,
        _models=models,
    )


def _choose(
    items: Any, optimizer: Any, lazy: bool
) -> tuple[list[Table], dict[str, str], str | None]:
    """The tables to update by rows, those left with the reason, and what differs."""
    tables: list[Table] = []
    left: dict[str, str] = {}
    difference: str | None = None
    for table, reason in tables_in(items):
        differs = inexact(optimizer, table)
        if reason is not None:
            left[table.name] = reason
        elif differs is not None and not lazy:
            left[table.name] = f"not bit for bit: {differs}"
        else:
            tables.append(table)
            difference = difference or differs
    return tables, left, difference


def _trace_again(model: Any) -> None:
    """Keras keeps the traced step; in the middle of `fit` too it must have one."""
    for kind in ("train", "test", "predict"):
        if getattr(model, f"{kind}_function", None) is None:
            continue
        try:
            getattr(model, f"make_{kind}_function")(force=True)
        except TypeError:
            # A make_..._function of the user's own, without `force`.
            setattr(model, f"{kind}_function", None)


def _read_without_copy(row_sparse: RowSparse) -> None:
    """A variable that was written by rows is copied on every read of the whole,
    until it is told otherwise."""
    import tensorflow as tf

    update = inner(row_sparse.optimizer)
    written = [t.current for t in row_sparse.tables if t.current is not None]
    shapes = {tuple(v.shape) for v in written}
    written += [v for v in update.variables if tuple(v.shape) in shapes]
    for variable in written:
        value = stored(variable)
        for part in getattr(value, "values", (value,)):
            try:
                tf.raw_ops.DisableCopyOnRead(resource=part.handle)
            except (AttributeError, ValueError, tf.errors.OpError) as error:
                _log.debug("reads of %s stay copies: %s", variable, error)
