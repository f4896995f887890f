"""Elements as records of a TFRecord file, and back, bit for bit and in order.

No Python runs when they are read: TensorFlow reads, checks and parses. Large
elements are `single`: a record is one component of one element. Small ones are
kept in chunks, so that an element costs a slice of a tensor and not a record: if
their shapes are known they are `stacked`, and a record is one component of a
batch of them; else they are `packed`, and a record is a table of strings, each
one component of one element. Ragged and sparse tensors are kept as the dense ones
that they consist of.
"""

from __future__ import annotations

import base64
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from feedline.files.cores import cores
from feedline.fixes.means.errors import Refused
from feedline.job.private.tensorflow import (
    dataset_ops,
    nested_structure_coder,
    structure,
)

_LARGE_BYTES = 64 * 2**10
_KEPT = (tf.TensorSpec, tf.RaggedTensorSpec, tf.SparseTensorSpec)
_DTYPES = {
    *("bool", "string", "half", "bfloat16", "float16", "float32", "float64"),
    *("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("complex64", "complex128"),
}


@dataclass(frozen=True)
class Rows:
    """How the elements of one spec lie in a file."""

    spec: Any
    parts: tuple[Any, ...]
    kind: str

    @classmethod
    def of(cls, element_spec: Any, kind: str = "single") -> Rows:
        """Raises Refused for elements that cannot be kept, or not so."""
        for spec in tf.nest.flatten(element_spec):
            if not isinstance(spec, _KEPT) and type(spec).__name__ != "NoneTensorSpec":
                raise Refused(f"elements with a {type(spec).__name__} are not kept")
        flat = tf.nest.flatten(element_spec, expand_composites=True)
        parts = tuple(part for part in flat if isinstance(part, tf.TensorSpec))
        wrong = [part.dtype.name for part in parts if part.dtype.name not in _DTYPES]
        if wrong or not parts:
            what = f"tensors of type {wrong[0]}" if wrong else "elements of nothing"
            raise Refused(f"{what} cannot be kept on disk")
        dense = tuple(structure.get_flat_tensor_specs(element_spec))
        # TensorFlow's `unbatch` crashes on tensors of no elements.
        stackable = len(dense) == len(parts) and all(
            part.dtype != tf.variant and part.shape.num_elements() for part in dense
        )
        if kind not in ("single", "packed", *(("stacked",) * stackable)):
            raise Refused(f"elements like these are not kept as {kind!r}")
        return cls(element_spec, dense if kind == "stacked" else parts, kind)

    @classmethod
    def fitting(cls, dataset: Any) -> Rows:
        """The best way for these elements. Where the spec does not tell how large one
        is, the first is looked at."""
        rows = cls.of(dataset.element_spec)
        width = rows.width
        if width is None:
            width = max((bytes_of(one) for one in dataset.take(1)), default=1)
        if width >= _LARGE_BYTES:
            return rows
        try:
            return cls.of(dataset.element_spec, "stacked")
        except Refused:
            return cls.of(dataset.element_spec, "packed")

    @property
    def components(self) -> tuple[str, ...]:
        """What must agree between an entry and the pipeline it stands for."""
        return tuple(f"{part.dtype.name} {part.shape}" for part in self.parts)

    @property
    def width(self) -> int | None:
        """Bytes of every element, None where they differ."""
        if any(
            part.dtype == tf.string or not part.shape.is_fully_defined()
            for part in self.parts
        ):
            return None
        return sum(
            int(part.shape.num_elements() * part.dtype.size) for part in self.parts
        )

    # ------------------------------------------------------------------ writing

    def flatten(self, element: Any) -> list[Any]:
        flat = tf.nest.flatten(element, expand_composites=True)
        return [part for part in flat if part is not None]

    def records_of(self, elements: list[list[Any]]) -> list[bytes]:
        """The records of elements that are lists of arrays."""
        if self.kind == "stacked":
            columns = [
                _column(column, part)
                for part, column in zip(
                    self.parts, zip(*elements, strict=True), strict=True
                )
            ]
        else:
            packed = [
                [
                    _string(_tensor(value, part)).numpy()
                    for value, part in zip(element, self.parts, strict=True)
                ]
                for element in elements
            ]
            if self.kind == "single":
                return [record for element in packed for record in element]
            columns = [tf.constant(np.array(packed, object), tf.string)]
        return [_string(column).numpy() for column in columns]

    # ------------------------------------------------------------------ reading

    def read(self, files: Any, cardinality: int = -2) -> Any:
        """The elements in these files, as many as the pipeline said it had."""
        records = tf.data.TFRecordDataset(files)
        ways = {
            "single": self._singles,
            "stacked": self._unstacked,
            "packed": self._unpacked,
        }
        elements = dataset_ops._RestructuredDataset(ways[self.kind](records), self.spec)
        if cardinality < 0:
            return elements
        return elements.apply(tf.data.experimental.assert_cardinality(cardinality))

    def _singles(self, records: Any) -> Any:
        elements = records.batch(len(self.parts), drop_remainder=True)
        return elements.map(
            self._element, num_parallel_calls=_threads(), deterministic=True
        )

    def _unstacked(self, records: Any) -> Any:
        def columns(chunk: Any) -> Any:
            return tuple(self._parsed(chunk, stacked=True))

        chunks = records.batch(len(self.parts), drop_remainder=True)
        rows = chunks.map(columns, num_parallel_calls=_threads(), deterministic=True)
        return rows.prefetch(2).unbatch()

    def _unpacked(self, records: Any) -> Any:
        def strings(record: Any) -> Any:
            parsed = tf.io.parse_tensor(record, tf.string)
            return tf.ensure_shape(parsed, [None, len(self.parts)])

        rows = records.map(strings, num_parallel_calls=2, deterministic=True)
        return (
            rows.prefetch(2)
            .unbatch()
            .map(self._element, num_parallel_calls=_threads(), deterministic=True)
        )

    def _element(self, strings: Any) -> Any:
        return self.packed(self._parsed(strings))

    def _parsed(self, strings: Any, *, stacked: bool = False) -> list[Any]:
        found = []
        for place, part in enumerate(self.parts):
            tensor = tf.io.parse_tensor(strings[place], part.dtype)
            shape = [None, *part.shape] if stacked else part.shape
            found.append(tf.ensure_shape(tensor, shape))
        return found

    def packed(self, tensors: list[Any]) -> Any:
        """Tensors in the structure of an element."""
        left = iter(tensors)
        flat = tf.nest.flatten(self.spec, expand_composites=True)
        values = [next(left) if isinstance(s, tf.TensorSpec) else None for s in flat]
        packed = tf.nest.pack_sequence_as(self.spec, values, expand_composites=True)
        # A list would be taken for one tensor; `spec` says how it is nested.
        return tuple(packed) if isinstance(packed, list) else packed


def encode_spec(element_spec: Any) -> str:
    """For the manifest; empty where TensorFlow cannot write it."""
    try:
        with warnings.catch_warnings():  # of types that another program may lack
            warnings.simplefilter("ignore")
            proto = nested_structure_coder.encode_structure(element_spec)
    except (NotImplementedError, TypeError, ValueError, AttributeError):
        return ""
    return base64.b64encode(proto.SerializeToString(deterministic=True)).decode()


def decode_spec(text: str) -> Any:
    """None where there is none, or this TensorFlow does not know it."""
    if not text:
        return None
    from feedline.job.private.tensorflow import struct_pb2

    try:
        proto = struct_pb2.StructuredValue.FromString(base64.b64decode(text))
        return nested_structure_coder.decode_proto(proto)
    except Exception as error:  # a proto of another TensorFlow fails in many ways
        raise Refused(f"the element spec of a kept dataset is unknown: {error}") from (
            error
        )


def bytes_of(element: Any) -> int:
    """What one element takes, about."""
    total = 0
    for tensor in tf.nest.flatten(element, expand_composites=True):
        if tensor is None:
            continue
        if tensor.dtype == tf.string:
            total += int(tf.reduce_sum(tf.strings.length(tensor))) + 16
        else:
            total += math.prod(tensor.shape) * tensor.dtype.size
    return total


def _string(tensor: Any) -> Any:
    return tf.io.serialize_tensor(tensor)


def _tensor(value: Any, part: Any) -> Any:
    return tf.constant(np.asarray(value, part.dtype.as_numpy_dtype), part.dtype)


def _column(values: Sequence[Any], part: Any) -> Any:
    """One tensor of all values; filled in, for NumPy would cut strings short."""
    column = np.empty((len(values), *part.shape), part.dtype.as_numpy_dtype)
    for place, value in enumerate(values):
        column[place] = value
    return tf.constant(column, part.dtype)


def _threads() -> int:
    return min(4, cores())
