"""Which tables and which optimizers can be updated by rows, and how exactly.

Everything that is not known to come out right is left to Keras, with a reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from feedline.errors import FeedlineError
from feedline.rows import private


class CannotInstall(FeedlineError):
    """No table of the model can be updated by rows; the model is as it was."""


@dataclass(frozen=True)
class Table:
    """An embedding table: a Keras `Embedding`, or a variable looked up by rows."""

    name: str
    layer: Any = None
    variable: Any = None

    @property
    def current(self) -> Any:
        """The table's variable, None as long as its layer is not built."""
        if self.layer is None:
            return self.variable
        return private.embeddings(self.layer)


# What is replaced on an optimizer, or relied on: a subclass with its own version
# of one of these does something else than the Keras class that it extends.
_RELIED_ON = (
    "apply",
    "apply_gradients",
    "assign",
    "assign_add",
    "assign_sub",
    "update_step",
    *private.RELIED_ON,
)
_STRATEGIES = (
    "_DefaultDistributionStrategy",
    "OneDeviceStrategy",
    "MirroredStrategy",
    "CollectiveAllReduceStrategy",
    "MultiWorkerMirroredStrategy",
)


def inner(optimizer: Any) -> Any:
    """The optimizer that does the update, without the loss scale around it."""
    import keras

    if type(optimizer) is keras.optimizers.LossScaleOptimizer:
        return optimizer.inner_optimizer
    return optimizer


def check(optimizer: Any) -> None:
    """`CannotInstall` unless the update of this optimizer can be done by rows."""
    import keras

    if keras.backend.backend() != "tensorflow":
        raise CannotInstall(
            f"Keras runs on {keras.backend.backend()}: row-sparse updates are for "
            "the TensorFlow backend."
        )
    if optimizer is None:
        raise CannotInstall("the model has no optimizer: call model.compile first.")
    name, update = type(optimizer).__name__, inner(optimizer)
    reason = _unknown(update) or _unsuited(update)
    if reason:
        raise CannotInstall(f"the optimizer {name} is left as it is: {reason}.")
    for one in {id(optimizer): optimizer, id(update): update}.values():
        if any(attribute in vars(one) for attribute in (*_RELIED_ON, "check_finite")):
            raise CannotInstall(
                f"the optimizer {name} has methods that were replaced on the object: "
                "row-sparse updates are installed already, or someone else's are."
            )


def _known(optimizer: Any) -> Any:
    from keras import optimizers

    known = (
        optimizers.SGD,
        optimizers.Adagrad,
        optimizers.RMSprop,
        optimizers.AdamW,
        optimizers.Adam,
    )
    return next((kind for kind in type(optimizer).__mro__ if kind in known), None)


def _unknown(optimizer: Any) -> str | None:
    kind = _known(optimizer)
    if kind is None:
        return (
            "its update is not known to be the same by rows (known are SGD, Adagrad, "
            "RMSprop, Adam and AdamW of Keras 3)"
        )
    for name in _RELIED_ON:
        if getattr(type(optimizer), name, None) is not getattr(kind, name, None):
            return f"it has a {name} of its own, unlike Keras' {kind.__name__}"
    return None


def _unsuited(optimizer: Any) -> str | None:
    if optimizer.use_ema:
        return "use_ema averages every row in every step"
    if getattr(optimizer, "gradient_accumulation_steps", None):
        return "gradient_accumulation_steps adds gradients up in a dense table"
    strategy = type(private.strategy(optimizer)).__name__
    if strategy not in _STRATEGIES:
        return f"a {strategy} does not keep a whole table on each device"
    return None


def stored(variable: Any) -> Any:
    """TensorFlow's variable, of which Keras' is a wrapper."""
    import keras

    return variable.value if isinstance(variable, keras.Variable) else variable


def listed(items: Any) -> list[Any]:
    """One item, or several, as a list."""
    import keras
    import tensorflow as tf

    if isinstance(items, (keras.Layer, keras.Variable, tf.Variable)):
        return [items]
    try:
        return list(items)
    except TypeError:
        return [items]


def tables_in(items: Sequence[Any]) -> Iterator[tuple[Table, str | None]]:
    """Each embedding table once, with the reason for which it is left alone."""
    import keras
    import tensorflow as tf

    seen: set[int] = set()
    for item in items:
        if isinstance(item, (keras.Variable, tf.Variable)):
            table = Table(getattr(item, "path", item.name), variable=item)
            found = [(table, _unsuited_variable(item))]
        elif isinstance(item, keras.Layer):
            layers = [
                layer
                for layer in private.layers(item)
                if isinstance(layer, keras.layers.Embedding)
            ]
            found = [(Table(layer.name, layer), _left(layer)) for layer in layers]
        else:
            raise CannotInstall(
                f"{item!r} is neither a Keras model, a layer nor a variable: give "
                "install(model), or install(layers, optimizer=optimizer)."
            )
        for table, reason in found:
            key = id(table.layer if table.layer is not None else table.variable)
            if key not in seen:
                seen.add(key)
                yield table, reason


def _left(layer: Any) -> str | None:
    import keras

    if type(layer).call is not keras.layers.Embedding.call:
        return f"its class {type(layer).__name__} looks up in its own way"
    if "call" in vars(layer):
        return "its call was replaced on the object"
    if getattr(layer, "quantization_mode", None) is not None:
        return "it is quantised, and not trained"
    if getattr(layer, "lora_enabled", False) or getattr(layer, "lora_rank", None):
        return "LoRA trains two small matrices in its place"
    if layer.embeddings_regularizer is not None:
        return "its regularizer gives every row a gradient"
    if layer.embeddings_constraint is not None:
        return "its constraint is applied to every row"
    if not layer.trainable:
        return "it is not trainable"
    return _unsuited_variable(private.embeddings(layer)) if layer.built else None


def _unsuited_variable(variable: Any) -> str | None:
    if not variable.trainable:
        return "it is not trainable"
    if len(variable.shape) != 2:
        return f"its shape {tuple(variable.shape)} is not that of a table"
    if getattr(variable, "regularizer", None) is not None:
        return "its regularizer gives every row a gradient"
    if getattr(variable, "constraint", None) is not None:
        return "its constraint is applied to every row"
    if not hasattr(stored(variable), "scatter_update"):
        return "it is a kind of variable that cannot be written by rows"
    return None


def inexact(optimizer: Any, table: Table) -> str | None:
    """Why this table's weights would differ from Keras' own, None if they do not."""
    optimizer = inner(optimizer)
    name = _known(optimizer).__name__
    if optimizer.global_clipnorm:
        return "global_clipnorm sums the table's squares in another order"
    if decays(optimizer, table):
        return "weight decay reaches only the rows that a batch touches"
    if name == "SGD":
        return (
            "its momentum waits until a row is touched" if optimizer.momentum else None
        )
    if name == "Adagrad":
        # Keras divides by the root of accumulator + epsilon in every row: with
        # nothing in either, rows that were never touched become NaN.
        return None if optimizer.epsilon > 0 else "its epsilon is 0"
    return "its moments wait until a row is touched"


def decays(optimizer: Any, table: Table) -> bool:
    """Whether weight decay applies to this table, as far as known now."""
    if optimizer.weight_decay is None:
        return False
    variable = table.current
    if variable is None:
        return True
    return private.decays(optimizer, stored(variable))
