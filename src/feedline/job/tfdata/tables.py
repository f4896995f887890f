"""Tables that a traced function looks words up in, and whether they can change.

`LookupTableFindV2` reads a table that is filled once (`tf.lookup.StaticHashTable`, as
`TextVectorization` and `StringLookup` have after `adapt`) and one that anybody may
write to (`MutableHashTable`) alike. The handle that the function holds tells them
apart: it belongs to a table that the function's own Python can reach.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from feedline.job.private.tensorflow import PACKAGE, func
from feedline.job.source.reached import reached_from


def holds_only_fixed(traced: Any) -> bool:
    """Is all that this function holds, besides plain tensors, a table that was filled
    once and for all? A table that was replaced since is not found, and does not count
    as fixed."""
    held = [
        tensor
        for tensor in traced.function.captured_inputs
        if tensor.dtype in (tf.resource, tf.variant)
    ]
    if not held:
        return True
    fixed = [
        each.resource_handle
        for each in reached_from(func(traced))
        if _is_fixed(type(each))
    ]
    return all(any(tensor is handle for handle in fixed) for tensor in held)


def _is_fixed(kind: type) -> bool:
    """`StaticVocabularyTable` is made of a subclass of TensorFlow's own; a subclass
    of the user's may do anything."""
    own = str(kind.__module__).startswith(PACKAGE)
    return own and issubclass(kind, tf.lookup.StaticHashTable)
