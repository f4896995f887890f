"""Where feedline looks into TensorFlow and Keras, all in one place.

Each function here wraps one method of theirs so that `Watch` hears of it. A
wrapper does next to nothing itself: outside of training loops it costs well
below a microsecond, and when the watch is off it calls straight through.
"""

from __future__ import annotations

import functools
import inspect
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from feedline.job.imports import AfterImport
from feedline.job.source import where_of

if TYPE_CHECKING:
    from feedline.job.watch import Watch

_DATA = "tensorflow.python.data.ops"


_installed: dict[int, AfterImport] = {}


def install(watch: Watch) -> AfterImport:
    """Start to listen, now and for every module that is imported later. The same
    watch is told only once of anything, however often it is installed."""
    if id(watch) in _installed:
        return _installed[id(watch)]
    patches = {
        f"{_DATA}.dataset_ops": _datasets,
        f"{_DATA}.iterator_ops": _iterators,
        f"{_DATA}.dataset_autograph": _loops_in_functions,
        "tensorflow.python.distribute.input_lib": _distributed,
        "tensorflow.python.eager.polymorphic_function.polymorphic_function": _functions,
        "tensorflow.python.eager.backprop": _gradients,
        "tensorflow.python.framework.func_graph": _tracing,
        "tensorflow.python.framework.ops": _reading_values,
        "keras.src.backend.tensorflow.trainer": _fit,
        "keras.src.optimizers.base_optimizer": _optimizer,
        "keras.src.layers.layer": _embeddings,
    }
    hooks = AfterImport(
        {name: functools.partial(patch, watch) for name, patch in patches.items()}
    )
    hooks.install()
    _installed[id(watch)] = hooks
    return hooks


def _datasets(watch: Watch, module: ModuleType) -> None:
    """Every dataset remembers the line that made it."""
    cls = module.DatasetV2
    original = cls.__init__

    @functools.wraps(original)
    def init(self: Any, variant_tensor: Any) -> None:
        original(self, variant_tensor)
        if watch.on:
            self._feedline_where = where_of(sys._getframe(1))

    cls.__init__ = init


def _iterators(watch: Watch, module: ModuleType) -> None:
    cls = module.OwnedIterator
    original_init, original_next = cls.__init__, cls.__next__
    original_get_next = cls.get_next

    @functools.wraps(original_init)
    def init(self: Any, dataset: Any = None, *args: Any, **kwargs: Any) -> None:
        original_init(self, dataset, *args, **kwargs)
        if watch.on and dataset is not None:
            watch.iterator_made(
                self, dataset, functools.partial(original_next, self), sys._getframe(1)
            )

    @functools.wraps(original_next)
    def next_(self: Any) -> Any:
        if watch.on and hasattr(self, "_feedline_loop"):
            return watch.next_batch(self, functools.partial(original_next, self))
        return original_next(self)

    @functools.wraps(original_get_next)
    def get_next(self: Any) -> Any:
        if watch.on and hasattr(self, "_feedline_loop"):
            return watch.next_batch(self, functools.partial(original_get_next, self))
        return original_get_next(self)

    cls.__init__, cls.__next__, cls.get_next = init, next_, get_next


def _distributed(watch: Watch, module: ModuleType) -> None:
    original_get_next = module.DistributedIteratorBase.get_next

    @functools.wraps(original_get_next)
    def get_next(self: Any, name: Any = None) -> Any:
        if watch.on and hasattr(self, "_feedline_loop"):
            call = functools.partial(original_get_next, self, name)
            return watch.next_batch(self, call)
        return original_get_next(self, name)

    module.DistributedIteratorBase.get_next = get_next

    for name in ("DistributedDataset", "DistributedDatasetsFromFunction"):
        cls = getattr(module, name)
        cls.__iter__ = _watched_iter(watch, cls.__iter__, original_get_next)


def _watched_iter(watch: Watch, original: Any, get_next: Any) -> Any:
    @functools.wraps(original)
    def iter_(self: Any) -> Any:
        iterator = original(self)
        if watch.on:
            raw = functools.partial(get_next, iterator)
            watch.iterator_made(iterator, self, raw, sys._getframe(1))
        return iterator

    return iter_


def _loops_in_functions(watch: Watch, module: ModuleType) -> None:
    """`for batch in dataset` inside a `tf.function`, while it is traced."""
    original = module._tf_ag_dataset_for_stmt

    hooked: Any = module

    def for_stmt(ds: Any, *args: Any, **kwargs: Any) -> Any:
        return original(watch.loop_traced(ds), *args, **kwargs)

    # TensorFlow registers the function by this name at the end of its import.
    hooked._tf_ag_dataset_for_stmt = for_stmt
    registry = module.control_flow.for_loop_registry._registry
    for cls in [cls for cls, known in registry.items() if known is original]:
        registry[cls] = for_stmt


def _functions(watch: Watch, module: ModuleType) -> None:
    original = module.Function.__call__

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if watch.on and watch.outside():
            return watch.function_called(self, original, args, kwargs)
        return original(self, *args, **kwargs)

    module.Function.__call__ = call


def _gradients(watch: Watch, module: ModuleType) -> None:
    original = module.GradientTape.gradient

    @functools.wraps(original)
    def gradient(self: Any, *args: Any, **kwargs: Any) -> Any:
        if watch.on:
            watch.gradient_taken()
        return original(self, *args, **kwargs)

    module.GradientTape.gradient = gradient


def _tracing(watch: Watch, module: ModuleType) -> None:
    original = module.func_graph_from_py_func

    @functools.wraps(original)
    def trace(name: Any, python_func: Any, *args: Any, **kwargs: Any) -> Any:
        with watch.tracing(str(name)):
            return original(name, python_func, *args, **kwargs)

    hooked: Any = module
    hooked.func_graph_from_py_func = trace


def _reading_values(watch: Watch, module: ModuleType) -> None:
    """`.numpy()`, `float(loss)`: the host waits for the device."""
    cls = module._EagerTensorBase
    original = cls._numpy

    @functools.wraps(original)
    def numpy(self: Any) -> Any:
        if watch.on:
            watch.value_read()
        return original(self)

    cls._numpy = numpy


def _fit(watch: Watch, module: ModuleType) -> None:
    trainer, epochs = module.TensorFlowTrainer, module.TFEpochIterator
    original, original_init = trainer.fit, epochs.__init__
    signature = inspect.signature(inspect.unwrap(original))

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not watch.on or watch.fitting is not None:
            return original(self, *args, **kwargs)
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:  # the user's mistake; Keras says it best
            return original(self, *args, **kwargs)
        with watch.fit_called(self, bound, sys._getframe(1)):
            return original(*bound.args, **bound.kwargs)

    @functools.wraps(original_init)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original_init(self, *args, **kwargs)
        if watch.on:
            watch.fit_data_made(self)

    trainer.fit, epochs.__init__ = fit, init


def _embeddings(watch: Watch, module: ModuleType) -> None:
    """An embedding layer remembers the line that made it. (Keras reads the
    signature of every layer's `__init__`, so that one must stay as it is.)"""
    cls = module.Layer
    original = cls.__new__

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        layer = original(cls, *args, **kwargs)
        if watch.on and any(base.__name__ == "Embedding" for base in cls.__mro__):
            watch.tables[layer] = where_of(sys._getframe(1))
        return layer

    cls.__new__ = new


def _optimizer(watch: Watch, module: ModuleType) -> None:
    """Which variables get gradients that name only a few rows."""
    original = module.BaseOptimizer.apply

    @functools.wraps(original)
    def apply(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        if watch.on:
            watch.update_made(self, grads, trainable_variables)
        return original(self, grads, trainable_variables)

    module.BaseOptimizer.apply = apply
