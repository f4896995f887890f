"""Run an optimizer's own update step on the touched rows alone.

The arithmetic of an update is nowhere written down in this package. Keras'
`update_step` is called as it is, of whatever version, on stand-ins: `Rows` for
the table and for each of its slots (moments, accumulators), which hold the
touched rows as a small tensor and write them back when assigned, and `RowsOnly`
for the optimizer, which hands out these slots and is the optimizer in all
else. So a touched row gets exactly the value that Keras would have given it,
also where Keras has a way of its own: it squares the gradients of a word that
a batch names twice one by one, and adds up the squares.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from feedline.rows import private
from feedline.rows.eligible import stored
from feedline.rows.touched import Touched


class Rows:
    """The touched rows of one variable; for `update_step` a variable itself."""

    def __init__(self, variable: Any, touched: Touched) -> None:
        self._variable = stored(variable)
        # Inside `Strategy.update` this is the handle of the device's own copy.
        self._handle = self._variable.handle
        self._touched = touched
        self._tensor: Any = None
        self.dtype = self._variable.dtype

    @property
    def tensor(self) -> Any:
        """The rows as they are now."""
        if self._tensor is None:
            rows = tf.raw_ops.ResourceGather(
                resource=self._handle, indices=self._touched.rows, dtype=self.dtype
            )
            rows.set_shape([None, *self._variable.shape[1:]])
            self._tensor = rows
        return self._tensor

    @property
    def shape(self) -> Any:
        return self.tensor.shape

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        return tf.convert_to_tensor(self.tensor, dtype=dtype, name=name)

    def assign(self, value: Any) -> None:
        value = tf.cast(value, self.dtype)
        if isinstance(value, tf.IndexedSlices):
            self._each(tf.tensor_scatter_nd_update, "ResourceScatterUpdate", value)
        else:
            self._write(value)

    def assign_add(self, value: Any) -> None:
        value = tf.cast(value, self.dtype)
        if isinstance(value, tf.IndexedSlices):
            self._each(tf.tensor_scatter_nd_add, "ResourceScatterAdd", value)
        else:
            self._write(self.tensor + value)

    def assign_sub(self, value: Any) -> None:
        value = tf.cast(value, self.dtype)
        if isinstance(value, tf.IndexedSlices):
            self._each(tf.tensor_scatter_nd_sub, "ResourceScatterSub", value)
        else:
            self._write(self.tensor - value)

    def _write(self, value: Any) -> None:
        rows, kept = self._touched.rows, value
        if self._touched.padded:
            # Every mention of a row writes the same values.
            rows, kept = self._touched.named, tf.gather(value, self._touched.place)
        tf.raw_ops.ResourceScatterUpdate(
            resource=self._handle, indices=rows, updates=kept
        )
        self._tensor = value

    def _each(self, apply: Any, on_table: str, slices: Any) -> None:
        """Slice by slice, a row that is named twice twice, in the order of the
        batch: to the last bit what Keras' scatter into the table gives. Of many
        slices that scatter makes several threads' work, and gives them in any
        order, so that Keras differs from run to run. Here the order stays."""
        if self._touched.padded:
            rows = tf.gather(self._touched.rows, slices.indices)
            write = getattr(tf.raw_ops, on_table)
            write(resource=self._handle, indices=rows, updates=slices.values)
            self._tensor = None
        else:
            place = tf.expand_dims(slices.indices, -1)
            self._write(apply(self.tensor, place, slices.values))

    def __add__(self, other: Any) -> Any:
        return self.tensor + other

    def __radd__(self, other: Any) -> Any:
        return other + self.tensor

    def __sub__(self, other: Any) -> Any:
        return self.tensor - other

    def __rsub__(self, other: Any) -> Any:
        return other - self.tensor

    def __mul__(self, other: Any) -> Any:
        return self.tensor * other

    def __rmul__(self, other: Any) -> Any:
        return other * self.tensor

    def __truediv__(self, other: Any) -> Any:
        return self.tensor / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.tensor

    def __neg__(self) -> Any:
        return -self.tensor


class RowsOnly:
    """An optimizer that sees of one table, and of its slots, the touched rows."""

    def __init__(self, optimizer: Any, index: int, touched: Touched) -> None:
        self._optimizer = optimizer
        self._index = index
        self._touched = touched
        self._slots: dict[int, Rows] = {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._optimizer, name)
        return _Slots(self, value) if self._is_slots(value) else value

    def _is_slots(self, value: Any) -> bool:
        """A list with one variable for each variable that is trained."""
        optimizer, index = self._optimizer, self._index
        return (
            isinstance(value, list)
            and len(value) == len(private.trained(optimizer))
            and hasattr(value[index], "assign")
        )

    def _rows_of(self, slot: Any) -> Rows:
        if id(slot) not in self._slots:
            self._slots[id(slot)] = Rows(slot, self._touched)
        return self._slots[id(slot)]

    def _get_variable_index(self, variable: Any) -> int:
        if isinstance(variable, Rows):
            return self._index
        return private.variable_index(self._optimizer, variable)

    def assign(self, variable: Any, value: Any) -> None:
        self._to(variable).assign(value)

    def assign_add(self, variable: Any, value: Any) -> None:
        self._to(variable).assign_add(value)

    def assign_sub(self, variable: Any, value: Any) -> None:
        self._to(variable).assign_sub(value)

    def _to(self, variable: Any) -> Rows:
        if isinstance(variable, Rows):
            return variable
        raise TypeError(
            f"{type(self._optimizer).__name__} assigns to {variable!r}, which is not "
            "a slot of the table that it updates"
        )


class _Slots:
    """The list of one kind of slot; the table's own one is `Rows`."""

    def __init__(self, seen_by: RowsOnly, slots: Any) -> None:
        self._seen_by, self._slots = seen_by, slots

    def __getitem__(self, index: int) -> Any:
        slot = self._slots[index]
        return self._seen_by._rows_of(slot) if index == self._seen_by._index else slot

    def __len__(self) -> int:
        return len(self._slots)


def update_rows(
    optimizer: Any,
    gradient: Any,
    variable: Any,
    learning_rate: Any,
    *,
    decay: bool,
    summed: bool,
) -> None:
    """What `optimizer.update_step` does, to the rows that `gradient` names.

    `decay`: the optimizer's weight decay, on the same rows, goes before it.
    `summed`: Keras would have made this gradient dense before, so that the step
    sees the sum of a row's mentions and not each of them.
    """
    touched = Touched.by(gradient)
    rows = Rows(variable, touched)
    if decay:
        decay_weights(optimizer, rows)
    index = private.variable_index(optimizer, variable)
    only = RowsOnly(optimizer, index, touched)
    placed = touched.summed(gradient) if summed else touched.placed(gradient)
    type(optimizer).update_step(only, placed, rows, learning_rate)


def decay_weights(optimizer: Any, variable: Any) -> None:
    """What Keras' `_apply_weight_decay` does to one variable."""
    rate = tf.cast(optimizer.learning_rate, variable.dtype)
    weight = tf.cast(optimizer.weight_decay, variable.dtype)
    variable.assign_sub(variable * weight * rate)
