"""One dataset object, recognised by its class."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from feedline.job.private import tensorflow as tf_private
from feedline.job.private.tensorflow import DATA_PACKAGE, PACKAGE, dataset_ops
from feedline.job.tfdata import ops
from feedline.job.tfdata.arguments import UNSET, Dataset, argument, found
from feedline.job.tfdata.functions import closure
from feedline.job.tfdata.ops import CLASSES, OPAQUE, By, Fact, Op
from feedline.job.tfdata.reuse import Seeds

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Found:
    """What a dataset object was recognised as; `Stage.handle` holds it.

    `traced` are its traced functions, `users` the user's own callables, each
    with the traced function that it is in. A `composite` one stands for several
    objects: `dataset` and what lies between it and `inputs`.
    """

    dataset: Dataset
    op: str
    inputs: tuple[Dataset, ...] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    traced: tuple[Any, ...] = ()
    users: tuple[tuple[Any, Any], ...] = ()
    seeds: tuple[Seeds, ...] = ()
    composite: bool = False

    def __post_init__(self) -> None:
        _alive.add(self)


_alive: WeakSet[Found] = WeakSet()


def alive() -> list[Found]:
    """All there are: what they hold is held by us."""
    return list(_alive)


def find(dataset: Dataset) -> Found:
    """`dataset` by its class alone; opaque where the table does not have it."""
    cls = type(dataset)
    op = CLASSES.get(cls.__name__)
    if op is not None and cls.__module__.startswith(PACKAGE):
        try:
            return _find(op, dataset)
        except (AttributeError, LookupError) as error:
            _log.warning("this TensorFlow's %s is new to feedline: %r", op.name, error)
    inputs = tuple(unadapted(one) for one in tf_private.inputs(dataset)())
    return Found(dataset, OPAQUE, inputs, {"class": cls.__name__})


def _find(op: Op, dataset: Dataset) -> Found:
    traced = tuple(getattr(dataset, name) for name in op.functions)
    upstream = found(op.inputs)(dataset) if op.inputs else tf_private.inputs(dataset)()
    return Found(
        dataset,
        op.name,
        inputs=tuple(unadapted(one) for one in upstream),
        args=_args(op, dataset),
        traced=traced,
        users=tuple(_users(op, traced)),
        seeds=seeds_of(dataset),
    )


def unadapted(dataset: Dataset) -> Dataset:
    """Without the coat that `tf.compat.v1.data` puts on."""
    while isinstance(dataset, dataset_ops.DatasetV1Adapter):
        dataset = tf_private.dataset(dataset)
    return dataset


def seeds_of(dataset: Dataset) -> tuple[Seeds, ...]:
    if not tf_private.seed2.on(dataset):
        return ()
    return ((tf_private.seed(dataset), tf_private.seed2(dataset)),)


def _args(op: Op, dataset: Dataset) -> dict[str, Any]:
    if isinstance(op.args, By):
        args = dict(found(op.args)(dataset))
    else:
        args = {name: argument(dataset, name, at) for name, at in op.args.items()}
    if tf_private.name.get(dataset) is not None:
        args["name"] = tf_private.name(dataset)
    return {name: value for name, value in args.items() if value is not UNSET}


def _users(op: Op, traced: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
    """Without what TensorFlow itself passes where the user passed nothing."""
    for one in traced:
        func = tf_private.func(one)
        if op.name == ops.GROUP_BY_WINDOW:
            inside = closure(func)
            func = inside.get("key_func") or inside.get("window_size_func") or func
        module = str(getattr(func, "__module__", ""))
        default = module.startswith(DATA_PACKAGE)
        if not (default and op.has(Fact.DEFAULT_FUNCTIONS)):
            yield one, func
