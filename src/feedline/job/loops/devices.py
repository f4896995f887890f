"""Waiting for devices and for background work, and joining what replicas hold."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from feedline.job.loops.loop import CannotRun, Clock


def quiesce(clock: Clock, *, seconds: float = 1.0) -> bool:
    """Wait until the process uses hardly any CPU; False if it does not come to
    rest in time."""
    until = clock.now() + seconds
    while clock.now() < until:
        before = clock.cpu()
        clock.sleep(0.02)
        if clock.cpu() - before < 0.005:
            return True
    return False


def accelerator() -> str:
    devices = tf.config.list_logical_devices()
    for device in devices:
        if device.device_type not in ("CPU", "TPU_SYSTEM"):
            return str(device.name)
    raise CannotRun("there is no device but the host")


def sync() -> None:
    """Wait for what was launched on accelerators."""
    if tf.config.list_logical_devices("GPU"):
        tf.test.experimental.sync_devices()


def joined(value: Any) -> Any:
    parts = getattr(value, "values", None)
    if isinstance(value, tf.distribute.DistributedValues) and parts:
        return tf.concat(parts, axis=0)
    return value
