"""How the public arguments are read off a dataset object.

Most are an attribute and need nothing from here but `plain`. Arguments that are
data (`tensors`, `initial_state`, `record_defaults`) are not read: they stay with
the object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from feedline.job.private import tensorflow as tf_private
from feedline.job.tfdata import graph
from feedline.job.tfdata.functions import closure
from feedline.job.tfdata.ops.op import Argument, By
from feedline.job.tfdata.options import to_dict

Dataset = Any
UNSET: Any = object()
_DETERMINISTIC = {"default": None, "true": True, "false": False}


def argument(dataset: Dataset, name: str, at: Argument) -> Any:
    """The value as plain data, `UNSET` where the user gave none."""
    value = (
        plain(getattr(dataset, at, None)) if isinstance(at, str) else found(at)(dataset)
    )
    if name == "deterministic" and isinstance(value, str):
        return _DETERMINISTIC[value]
    return value


def found(by: By) -> Callable[[Dataset], Any]:
    """The function of this file that the op table names."""
    function = globals()[by.name]
    chosen: Callable[[Dataset], Any] = function(by.given) if by.given else function
    return chosen


def plain(value: Any) -> Any:
    """Numbers, strings and tuples instead of tensors."""
    if isinstance(value, tf.TensorShape):
        return None if value.rank is None else tuple(value.as_list())
    if isinstance(value, tf.DType):
        return value.name
    if tf.is_tensor(value):
        value = tf.get_static_value(value)
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, bytes):
        return value.decode(errors="surrogateescape")
    return tuple(plain(one) for one in value) if isinstance(value, list) else value


def if_set(attribute: str) -> Callable[[Dataset], Any]:
    """For an argument that older TensorFlows do not know: only when given."""
    return lambda dataset: getattr(dataset, attribute, None) or UNSET


def seed(dataset: Dataset) -> int | None:
    """The op's own seed, None where every run draws anew. A seed that was drawn
    from the global one counts as given: it repeats as well."""
    first, second = plain(tf_private.seed(dataset)), plain(tf_private.seed2(dataset))
    return None if first == second == 0 else int(second)


def count(dataset: Dataset) -> int | None:
    """How often to repeat, None for ever."""
    times = plain(tf_private.count(dataset))
    return None if times == -1 else int(times)


def from_graph(name: str) -> Callable[[Dataset], Any]:
    return lambda dataset: graph.attributes(dataset).get(name)


def interleave_order(dataset: Dataset) -> Any:
    """`deterministic`; None, the default, also where the graph is too large to ask."""
    if not tf_private.num_parallel_calls.on(dataset):
        return None
    return graph.attributes(dataset).get("deterministic")


def sloppy(dataset: Dataset) -> bool | None:
    said = tf_private.deterministic(dataset)
    return {"default": None, "true": False, "false": True}[said]


def window_size(dataset: Dataset) -> Any:
    size = tf_private.window_size_func(dataset)
    func = closure(tf_private.func(size)).get("window_size_func")
    constant = getattr(func, "__name__", "") == "constant_window_func"
    return plain(closure(func)["window_size"]) if constant else UNSET


def padded_shapes(dataset: Dataset) -> Any:
    def shape(tensor: Any) -> Any:
        return tuple(None if n == -1 else n for n in plain(tensor))

    return tf.nest.map_structure(shape, tf_private.padded_shapes(dataset))


def padding_values(dataset: Dataset) -> Any:
    """NumPy scalars, not Python's: a padding value must keep its dtype."""

    def scalar(tensor: Any) -> Any:
        value = tf.get_static_value(tensor)
        return value[()] if isinstance(value, np.ndarray) else value

    return tf.nest.map_structure(scalar, tf_private.padding_values(dataset))


def own_options(dataset: Dataset) -> dict[str, Any]:
    before = to_dict(tf_private.input_dataset(dataset).options())
    after = to_dict(dataset.options())
    return {k: v for k, v in after.items() if k not in before or before[k] != v}


def filenames(dataset: Dataset) -> Any:
    """File names that were given as such; a dataset of them is an input."""
    if file_datasets(dataset):
        return UNSET
    return plain(tf_private.tensors(tf_private.filenames(dataset))[0])


def file_datasets(dataset: Dataset) -> list[Dataset]:
    names = tf_private.filenames(dataset)
    return [] if is_file_list(names) else [names]


def is_file_list(dataset: Dataset) -> bool:
    """Is this the list that TensorFlow itself makes of file names?"""
    return type(dataset).__name__ == "_TensorSliceDataset" and bool(
        dataset.element_spec == tf.TensorSpec([], tf.string)
        and graph.attributes(dataset).get("is_files")
    )


def parallel_reads(dataset: Dataset) -> Any:
    reading = tf_private.impl(dataset)
    if tf_private.num_parallel_calls.on(reading):
        return plain(tf_private.num_parallel_calls(reading))
    return plain(tf_private.cycle_length.get(reading))


def concatenated(dataset: Dataset) -> list[Dataset]:
    """Not `_inputs()`: `Dataset.apply` overwrites what that returns."""
    return [
        tf_private.input_dataset(dataset),
        tf_private.dataset_to_concatenate(dataset),
    ]


def before_normalizing(dataset: Dataset) -> list[Dataset]:
    """`unbatch` and `rebatch` make their input dense first, by two more objects."""
    dense = tf_private.input_dataset(dataset)
    if type(dense).__name__ == "_RestructuredDataset":
        mapped = tf_private.input_dataset(dense)
        func = tf_private.func.get(tf_private.map_func.get(mapped))
        if getattr(func, "__qualname__", "").startswith("normalize_to_dense."):
            return [tf_private.input_dataset(mapped)]
    return [dense]


def before_global_shuffle(dataset: Dataset) -> list[Dataset]:
    return list(tf_private.inputs(tf_private.input_dataset(dataset))())


def row_splits_dtype(dataset: Dataset) -> str:
    for spec in tf.nest.flatten(dataset.element_spec):
        if isinstance(spec, tf.RaggedTensorSpec):
            return str(spec.row_splits_dtype.name)
    return "int64"
