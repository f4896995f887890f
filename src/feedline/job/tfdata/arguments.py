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
    first, second = plain(dataset._seed), plain(dataset._seed2)
    return None if first == second == 0 else int(second)


def count(dataset: Dataset) -> int | None:
    """How often to repeat, None for ever."""
    times = plain(dataset._count)
    return None if times == -1 else int(times)


def from_graph(name: str) -> Callable[[Dataset], Any]:
    return lambda dataset: graph.attributes(dataset).get(name)


def interleave_order(dataset: Dataset) -> Any:
    """`deterministic`; None, the default, also where the graph is too large to ask."""
    if not hasattr(dataset, "_num_parallel_calls"):
        return None
    return graph.attributes(dataset).get("deterministic")


def sloppy(dataset: Dataset) -> bool | None:
    return {"default": None, "true": False, "false": True}[dataset._deterministic]


def window_size(dataset: Dataset) -> Any:
    func = closure(dataset._window_size_func._func).get("window_size_func")
    constant = getattr(func, "__name__", "") == "constant_window_func"
    return plain(closure(func)["window_size"]) if constant else UNSET


def padded_shapes(dataset: Dataset) -> Any:
    def shape(tensor: Any) -> Any:
        return tuple(None if n == -1 else n for n in plain(tensor))

    return tf.nest.map_structure(shape, dataset._padded_shapes)


def padding_values(dataset: Dataset) -> Any:
    """NumPy scalars, not Python's: a padding value must keep its dtype."""

    def scalar(tensor: Any) -> Any:
        value = tf.get_static_value(tensor)
        return value[()] if isinstance(value, np.ndarray) else value

    return tf.nest.map_structure(scalar, dataset._padding_values)


def own_options(dataset: Dataset) -> dict[str, Any]:
    before = to_dict(dataset._input_dataset.options())
    after = to_dict(dataset.options())
    return {k: v for k, v in after.items() if k not in before or before[k] != v}


def filenames(dataset: Dataset) -> Any:
    """File names that were given as such; a dataset of them is an input."""
    return UNSET if file_datasets(dataset) else plain(dataset._filenames._tensors[0])


def file_datasets(dataset: Dataset) -> list[Dataset]:
    return [] if is_file_list(dataset._filenames) else [dataset._filenames]


def is_file_list(dataset: Dataset) -> bool:
    """Is this the list that TensorFlow itself makes of file names?"""
    return type(dataset).__name__ == "_TensorSliceDataset" and bool(
        dataset.element_spec == tf.TensorSpec([], tf.string)
        and graph.attributes(dataset).get("is_files")
    )


def parallel_reads(dataset: Dataset) -> Any:
    if hasattr(dataset._impl, "_num_parallel_calls"):
        return plain(dataset._impl._num_parallel_calls)
    return plain(getattr(dataset._impl, "_cycle_length", None))


def concatenated(dataset: Dataset) -> list[Dataset]:
    """Not `_inputs()`: `Dataset.apply` overwrites what that returns."""
    return [dataset._input_dataset, dataset._dataset_to_concatenate]


def before_normalizing(dataset: Dataset) -> list[Dataset]:
    """`unbatch` and `rebatch` make their input dense first, by two more objects."""
    dense = dataset._input_dataset
    if type(dense).__name__ == "_RestructuredDataset":
        mapped = dense._input_dataset
        func = getattr(getattr(mapped, "_map_func", None), "_func", None)
        if getattr(func, "__qualname__", "").startswith("normalize_to_dense."):
            return [mapped._input_dataset]
    return [dense]


def before_global_shuffle(dataset: Dataset) -> list[Dataset]:
    return list(dataset._input_dataset._inputs())


def row_splits_dtype(dataset: Dataset) -> str:
    for spec in tf.nest.flatten(dataset.element_spec):
        if isinstance(spec, tf.RaggedTensorSpec):
            return str(spec.row_splits_dtype.name)
    return "int64"
