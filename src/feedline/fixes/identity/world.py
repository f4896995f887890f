"""What the job runs on: versions, the processor, devices, and the settings of
TensorFlow and Keras on which rounding depends. In words, so that a refusal can say
what was and what is."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

from feedline.fixes.identity.part import Part, digest

_LIBRARIES = ("tensorflow", "keras", "numpy")
_VARIABLES = (
    *("TF_ENABLE_ONEDNN_OPTS", "TF_DETERMINISTIC_OPS", "TF_CUDNN_DETERMINISTIC"),
    *("TF_XLA_FLAGS", "XLA_FLAGS", "NVIDIA_TF32_OVERRIDE", "OMP_NUM_THREADS"),
    *("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "CUDA_VISIBLE_DEVICES"),
)


def versions() -> Part:
    from feedline import __version__

    facts = {"feedline": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        if name in sys.modules:
            facts[name] = str(getattr(sys.modules[name], "__version__", "?"))
    return Part("versions", "the versions", facts)


def machine(cores: int) -> Part:
    return Part(
        "machine",
        "the machine",
        {"processor": processor(), "cores": str(cores), **_settings()},
    )


def processor(info: Path = Path("/proc/cpuinfo")) -> str:
    """Its name, and a digest of what it can do."""
    name, flags = platform.processor() or platform.machine(), ""
    try:
        lines = info.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        field, _, value = line.partition(":")
        if field.strip() == "model name":
            name = value.strip()
        elif field.strip() in ("flags", "Features") and not flags:
            flags = " ".join(sorted(value.split()))
    return f"{name} ({digest(flags)[:8]})" if flags else name


def _settings() -> dict[str, str]:
    told = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    tf: Any = sys.modules.get("tensorflow")
    if tf is None:
        return told
    from feedline.job.private.tensorflow import config

    threads = tf.config.threading
    devices = [
        d.name.rpartition("device:")[2] for d in tf.config.list_logical_devices()
    ]
    told |= {
        "devices": ", ".join(devices),
        "threads": f"{threads.get_intra_op_parallelism_threads()} and "
        f"{threads.get_inter_op_parallelism_threads()}",
        "op determinism": str(config.is_op_determinism_enabled()),
        "functions run eagerly": str(tf.config.functions_run_eagerly()),
        "jit": str(tf.config.optimizer.get_jit()),
        "optimizer options": str(
            sorted(tf.config.optimizer.get_experimental_options().items())
        ),
    }
    keras: Any = sys.modules.get("keras")
    if keras is not None:
        told |= {
            "floatx": str(keras.config.floatx()),
            "dtype policy": str(keras.config.dtype_policy().name),
        }
    return told
