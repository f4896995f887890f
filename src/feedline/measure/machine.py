"""What the job may use: cores and memory (a cgroup's limits count, not the
machine's), the devices that TensorFlow sees, and accelerators that it does not.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from feedline.files import disk
from feedline.files.cores import CGROUP, cores
from feedline.measure.measurement import Machine


def memory(
    cgroup: Path = CGROUP, meminfo: Path = Path("/proc/meminfo")
) -> tuple[float, float]:
    """Bytes in all, and bytes still free, within the limit of the cgroup."""
    info = {
        line.split(":")[0]: int(line.split()[1]) * 1024
        for line in _text(meminfo).splitlines()
        if len(line.split()) >= 2
    }
    total = info.get("MemTotal", 0)
    free = info.get("MemAvailable", total)
    for limit_file, used_file in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        limit, used = _text(cgroup / limit_file), _text(cgroup / used_file)
        if limit.isdigit() and used.isdigit() and 0 < int(limit) < (total or 2**62):
            total = int(limit)
            free = min(free, max(0, total - int(used)))
    return float(total), float(free)


def accelerators_present(
    proc: Path = Path("/proc/driver/nvidia/gpus"), dev: Path = Path("/dev")
) -> tuple[str, ...]:
    """GPUs that the operating system knows, whether TensorFlow sees them or not."""
    names = []
    if proc.is_dir():
        for gpu in sorted(proc.iterdir()):
            model = [
                line.split(":", 1)[1].strip()
                for line in _text(gpu / "information").splitlines()
                if line.startswith("Model")
            ]
            names.append(model[0] if model else gpu.name)
    if not names:
        names = [str(d.name) for d in sorted(dev.glob("nvidia[0-9]*"))]
    if not names and dev.joinpath("kfd").exists() and shutil.which("rocm-smi"):
        names = ["AMD GPU"]
    return tuple(names)


def look() -> Machine:
    """The machine as it is; asks TensorFlow only if the job has imported it."""
    total, free = memory()
    devices: tuple[str, ...] = ("CPU:0",)
    tensor_cores = False
    tf = sys.modules.get("tensorflow")
    if tf is not None:
        logical = tf.config.list_logical_devices()
        devices = tuple(device.name.rsplit("device:", 1)[-1] for device in logical)
        for gpu in tf.config.list_physical_devices("GPU"):
            details = tf.config.experimental.get_device_details(gpu)
            if details.get("compute_capability", (0, 0)) >= (7, 0):
                tensor_cores = True
    return Machine(
        cores=cores(),
        memory_gb=round(total / 1e9, 1),
        free_memory_gb=round(free / 1e9, 1),
        devices=devices,
        accelerators_present=accelerators_present(),
        tensor_cores=tensor_cores,
        free_disk_gb=round(disk.free(Path(tempfile.gettempdir())) / 1e9, 1),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
