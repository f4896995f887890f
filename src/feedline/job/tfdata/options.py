"""`tf.data.Options` as a plain dict, and back.

Keys are dotted (`autotune.enabled`), only what was set is there, and a choice
out of a list is its name (`"OFF"`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import tensorflow as tf

from feedline.job.private import tensorflow as tf_private

_CHOICES = {
    "autotune.autotune_algorithm": tf.data.experimental.AutotuneAlgorithm,
    "experimental_distribute.auto_shard_policy": tf.data.experimental.AutoShardPolicy,
    "experimental_external_state_policy": tf.data.experimental.ExternalStatePolicy,
}


def to_dict(options: Any, prefix: str = "") -> dict[str, Any]:
    result: dict[str, Any] = {}
    defaults = type(options)()
    for name, value in tf_private.options(options).items():
        if tf_private.options.on(value):
            result |= to_dict(value, f"{prefix}{name}.")
        elif value is not None and value != getattr(defaults, name):
            result[prefix + name] = _plain(value)
    return result


def from_dict(values: Mapping[str, Any]) -> Any:
    options = tf.data.Options()
    for key, value in values.items():
        *path, name = key.split(".")
        target = options
        for part in path:
            target = getattr(target, part)
        setattr(target, name, _choice(key, value))
    return options


def _choice(key: str, value: Any) -> Any:
    if key in _CHOICES and isinstance(value, str):
        return _CHOICES[key][value]
    return list(value) if isinstance(value, tuple) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.name
    return tuple(value) if isinstance(value, list) else value
