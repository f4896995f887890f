"""Where feedline looks into TensorFlow and Keras, all in one place.

Each function here wraps one method of theirs so that `Watch` hears of it. A
wrapper does next to nothing itself: outside of training loops it costs well
below a microsecond, and when the watch is off it calls straight through.
"""

from __future__ import annotations

import functools
import inspect
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from feedline.job import marks
from feedline.job.private import keras, tensorflow
from feedline.job.script.imports import AfterImport
from feedline.job.source.lines import HOME, where_of

if TYPE_CHECKING:
    from feedline.job.script.watch import Watch

log = logging.getLogger(__name__)

_installed: dict[int, AfterImport] = {}


def install(watch: Watch) -> AfterImport:
    """Start to listen, now and for every module that is imported later. The same
    watch is told only once of anything, however often it is installed."""
    if id(watch) in _installed:
        return _installed[id(watch)]
    patches = {
        tensorflow.DATASETS: _datasets,
        tensorflow.ITERATORS: _iterators,
        tensorflow.LOOPS_IN_FUNCTIONS: _loops_in_functions,
        tensorflow.DISTRIBUTED: _distributed,
        tensorflow.DISTRIBUTING: _distributing,
        tensorflow.FUNCTIONS: _functions,
        tensorflow.GRADIENTS: _gradients,
        tensorflow.TRACING: _tracing,
        tensorflow.TENSORS: _reading_values,
        keras.TRAINER: _fit,
        keras.OPTIMIZER: _optimizer,
        keras.TRACEBACKS: _tracebacks,
        tensorflow.TRACEBACKS: _tracebacks,
        keras.LAYER: _embeddings,
    }
    hooks = AfterImport(
        {
            name: functools.partial(_apply, watch, patch)
            for name, patch in patches.items()
        }
    )
    hooks.install()
    _installed[id(watch)] = hooks
    return hooks


def _apply(
    watch: Watch, patch: Callable[[Watch, ModuleType], None], module: ModuleType
) -> None:
    try:
        patch(watch, module)
    except Exception:  # another TensorFlow must not break the user's script
        log.warning("cannot watch %s", module.__name__, exc_info=True)
        watch.notes.append(f"{module.__name__}, which feedline cannot watch here")


def _tracebacks(_: Watch, module: ModuleType) -> None:
    """TensorFlow and Keras leave their own frames out of the user's errors; ours
    are none of his either."""
    known = tensorflow.excluded_paths(module)
    tensorflow.excluded_paths.set(module, (*known, HOME))


def _datasets(watch: Watch, module: ModuleType) -> None:
    """Every dataset is known from then on and remembers the line that made it."""
    cls = module.DatasetV2
    original = cls.__init__

    @functools.wraps(original)
    def init(self: Any, variant_tensor: Any) -> None:
        original(self, variant_tensor)
        _made.add(self)
        if watch.on:
            watch.tell(_mark, self, sys._getframe(1))

    cls.__init__ = init


_made: WeakSet[Any] = WeakSet()


def datasets() -> list[Any]:
    """All of the script's datasets that are alive, and ours; those that were made
    before anybody listened are not among them."""
    return list(_made)


def _mark(dataset: Any, frame: FrameType) -> None:
    setattr(dataset, marks.WHERE, where_of(frame))


def _iterators(watch: Watch, module: ModuleType) -> None:
    cls = module.OwnedIterator
    original_init = cls.__init__

    @functools.wraps(original_init)
    def init(self: Any, dataset: Any = None, *args: Any, **kwargs: Any) -> None:
        if watch.on and watch.instead is not None and dataset is not None:
            dataset = watch.instead(dataset, where_of(sys._getframe(1)))
        original_init(self, dataset, *args, **kwargs)
        if watch.on and dataset is not None:
            watch.tell(
                watch.python_loops.iterator_made, self, dataset, sys._getframe(1)
            )

    cls.__init__ = init
    cls.__next__ = _watched_next(watch, cls.__next__)
    cls.get_next = _watched_next(watch, cls.get_next)


def _distributed(watch: Watch, module: ModuleType) -> None:
    base = module.DistributedIteratorBase
    base.get_next = _watched_next(watch, base.get_next)
    for name in ("DistributedDataset", "DistributedDatasetsFromFunction"):
        cls = getattr(module, name)
        cls.__iter__ = _watched_iter(watch, cls.__iter__)
    original = tensorflow.iterable_input(module).reduce

    @functools.wraps(original)
    def reduce(self: Any, *args: Any, **kwargs: Any) -> Any:
        """A loop inside a `tf.function`, while it is traced."""
        return original(watch.functions.loop_traced(self), *args, **kwargs)

    tensorflow.iterable_input(module).reduce = reduce


def _distributing(watch: Watch, module: ModuleType) -> None:
    get = module.get_distributed_dataset

    @functools.wraps(get)
    def get_distributed_dataset(dataset: Any, *args: Any, **kwargs: Any) -> Any:
        if watch.on and watch.instead is not None:
            dataset = watch.instead(dataset, where_of(sys._getframe(1)))
        return get(dataset, *args, **kwargs)

    hooked: Any = module
    hooked.get_distributed_dataset = get_distributed_dataset


def _watched_next(watch: Watch, original: Any) -> Any:
    @functools.wraps(original)
    def next_(self: Any, *args: Any, **kwargs: Any) -> Any:
        if watch.on and hasattr(self, marks.LOOP):
            return watch.python_loops.next_batch(self, original)
        return original(self, *args, **kwargs)

    return next_


def _watched_iter(watch: Watch, original: Any) -> Any:
    @functools.wraps(original)
    def iter_(self: Any) -> Any:
        iterator = original(self)
        if watch.on:
            watch.tell(
                watch.python_loops.iterator_made, iterator, self, sys._getframe(1)
            )
        return iterator

    return iter_


def _loops_in_functions(watch: Watch, module: ModuleType) -> None:
    """`for batch in dataset` inside a `tf.function`, while it is traced."""
    original = tensorflow.tf_ag_dataset_for_stmt(module)

    def for_stmt(ds: Any, *args: Any, **kwargs: Any) -> Any:
        return original(watch.functions.loop_traced(ds), *args, **kwargs)

    # TensorFlow registers the function by this name at the end of its import.
    tensorflow.tf_ag_dataset_for_stmt.set(module, for_stmt)
    registry = tensorflow.registry(module.control_flow.for_loop_registry)
    for cls in [cls for cls, known in registry.items() if known is original]:
        registry[cls] = for_stmt


def _functions(watch: Watch, module: ModuleType) -> None:
    original = module.Function.__call__

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not watch.on:
            return original(self, *args, **kwargs)
        functions = watch.functions
        if not watch.quiet and functions.listens():
            caller = sys._getframe(1)
            return functions.called(self, original, args, kwargs, caller)
        if watch.quiet and functions.leader is not None and functions.led(self):
            caller = sys._getframe(1)
            return functions.leader.call(self, original, args, kwargs, caller)
        return original(self, *args, **kwargs)

    module.Function.__call__ = call


def _gradients(watch: Watch, module: ModuleType) -> None:
    original = module.GradientTape.gradient

    @functools.wraps(original)
    def gradient(self: Any, *args: Any, **kwargs: Any) -> Any:
        if watch.on and not watch.quiet:
            watch.tell(watch.gradient_taken, sys._getframe(1))
        return original(self, *args, **kwargs)

    module.GradientTape.gradient = gradient


# Rows of a table that a function changes by itself: it trains without a tape.
_ROW_UPDATES = frozenset({"ResourceScatterAdd", "ResourceScatterSub"})


def _tracing(watch: Watch, module: ModuleType) -> None:
    original = module.func_graph_from_py_func

    @functools.wraps(original)
    def trace(name: Any, python_func: Any, *args: Any, **kwargs: Any) -> Any:
        with watch.tracing(str(name)):
            graph = original(name, python_func, *args, **kwargs)
        if watch.on and any(op.type in _ROW_UPDATES for op in graph.get_operations()):
            watch.tell(watch.rows_changed)
        return graph

    hooked: Any = module
    hooked.func_graph_from_py_func = trace


def _reading_values(watch: Watch, module: ModuleType) -> None:
    """`.numpy()`, `float(loss)`: the host waits for the device."""
    cls = tensorflow.eager_tensor_base(module)
    original = tensorflow.numpy(cls)

    @functools.wraps(original)
    def numpy(self: Any) -> Any:
        if watch.on and watch.active and not watch.quiet:
            watch.tell(watch.value_read, sys._getframe(1))
        return original(self)

    tensorflow.numpy.set(cls, numpy)


def _fit(watch: Watch, module: ModuleType) -> None:
    trainer, epochs = module.TensorFlowTrainer, module.TFEpochIterator
    original, original_init = trainer.fit, epochs.__init__
    signature = inspect.signature(inspect.unwrap(original))

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not watch.on or watch.fits.now is not None:
            return original(self, *args, **kwargs)
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:  # the user's mistake; Keras says it best
            return original(self, *args, **kwargs)
        watch.tell(watch.fits.begun, self, bound, sys._getframe(1))
        try:
            return original(*bound.args, **bound.kwargs)
        finally:
            watch.tell(watch.fits.ended, self, bound)

    @functools.wraps(original_init)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original_init(self, *args, **kwargs)
        if watch.on:
            watch.tell(watch.fits.data_made, self)

    trainer.fit, epochs.__init__ = fit, init


def _embeddings(watch: Watch, module: ModuleType) -> None:
    """An embedding layer remembers the line that made it. (Keras reads the
    signature of every layer's `__init__`, so that one must stay as it is.)"""
    cls = module.Layer
    original = cls.__new__

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        layer = original(cls, *args, **kwargs)
        if watch.on and any(base.__name__ == "Embedding" for base in cls.__mro__):
            with suppress(TypeError):  # a class of the script's may have no hash
                watch.tables[layer] = where_of(sys._getframe(1))
        return layer

    cls.__new__ = new


def _optimizer(watch: Watch, module: ModuleType) -> None:
    """Which variables get gradients that name only a few rows."""
    original = module.BaseOptimizer.apply

    @functools.wraps(original)
    def apply(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        if watch.on and not watch.quiet:
            if trainable_variables is not None:  # some can be gone through only once
                trainable_variables = list(trainable_variables)
            watch.tell(watch.update_made, self, grads, trainable_variables)
        return original(self, grads, trainable_variables)

    module.BaseOptimizer.apply = apply
