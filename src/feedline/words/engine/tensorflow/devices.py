"""Which devices train: from `--devices` to names that TensorFlow knows.

None               the first GPU, or the CPU where there is none
all                every GPU, or every CPU device where there is none
GPU:0,GPU:1        these
CPU:0,CPU:1        CPU devices, made as needed: to try several devices out
"""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf

from feedline.errors import TrainingError

_mirrored: dict[tuple[str, ...], Any] = {}
_NAME = re.compile(r"(CPU|GPU):(\d{1,3})")


def chosen(devices: str | None) -> list[str]:
    """The names of the devices to train on."""
    gpus = [_short(one.name) for one in tf.config.list_physical_devices("GPU")]
    if devices is None:
        return gpus[:1] or ["CPU:0"]
    if devices.strip().lower() == "all":
        return _logical("GPU") or _logical("CPU")
    names = [name.strip().upper() for name in devices.split(",")]
    for name in names:
        if _NAME.fullmatch(name) is None:
            raise TrainingError(
                f"devices is {devices!r}, and {name!r} is not a device: give all, or "
                "names such as GPU:0,GPU:1."
            )
    if len(set(names)) < len(names):
        raise TrainingError(f"devices is {devices!r}: give each device once.")
    wanted = [int(name[4:]) for name in names if name.startswith("CPU:")]
    if wanted and max(wanted) > 0:
        _make_cpus(max(wanted) + 1)
    known = [*_logical("GPU"), *_logical("CPU")]
    for name in names:
        if name not in known:
            raise TrainingError(
                f"devices is {devices!r}, and TensorFlow sees no {name} here; it sees: "
                f"{', '.join(known)}."
            )
    return names


def _make_cpus(count: int) -> None:
    """Divide the CPU into so many devices, if TensorFlow has not begun."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    have = tf.config.get_logical_device_configuration(cpu)
    if have is not None and len(have) >= count:
        return
    try:
        one = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [one] * count)
    except RuntimeError as error:
        raise TrainingError(
            f"{count} CPU devices are asked for, and TensorFlow has begun with "
            f"{len(have or [1])} in this process: train in a separate process, or "
            "call tf.config.set_logical_device_configuration before all else."
        ) from error


def mirrored(names: tuple[str, ...]) -> Any:
    """The strategy that keeps a copy on each of these devices. TensorFlow cannot
    exchange among them and, in the same process, among more or fewer."""
    if not _mirrored:
        _mirrored[names] = tf.distribute.MirroredStrategy(names)
    if names not in _mirrored:
        before = ",".join(next(iter(_mirrored)))
        raise TrainingError(
            f"this process has trained on {before}, and TensorFlow cannot then train "
            f"on {','.join(names)}: do so in a separate process."
        )
    return _mirrored[names]


def memory(device: str) -> int | None:
    """Bytes that TensorFlow may use on a GPU; None where that is not known."""
    if not device.startswith("GPU"):
        return None
    from tensorflow.python.client import device_lib

    for one in device_lib.list_local_devices():
        if _short(one.name) == device:
            return int(one.memory_limit)
    return None


def _logical(kind: str) -> list[str]:
    return [_short(one.name) for one in tf.config.list_logical_devices(kind)]


def _short(name: str) -> str:
    return ":".join(name.split(":")[-2:]).upper()
