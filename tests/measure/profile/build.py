"""Small captures with planted truth, written by the protocol buffer library.

The messages are declared here as `xplane.proto` has them, so that no TensorFlow is
needed; `test_real.py` reads what TensorFlow itself wrote. Times are milliseconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_TYPES = {"int64": 3, "uint64": 4, "double": 1, "string": 9, "bytes": 12}
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "XSpace": {
        "planes": (1, "*XPlane"),
        "errors": (2, "*string"),
        "hostnames": (4, "*string"),
    },
    "XPlane": {
        "id": (1, "int64"),
        "name": (2, "string"),
        "lines": (3, "*XLine"),
        "event_metadata": (4, "*EventEntry"),
        "stat_metadata": (5, "*StatEntry"),
        "stats": (6, "*XStat"),
    },
    "EventEntry": {"key": (1, "int64"), "value": (2, "XEventMetadata")},
    "StatEntry": {"key": (1, "int64"), "value": (2, "XStatMetadata")},
    "XLine": {
        "id": (1, "int64"),
        "name": (2, "string"),
        "timestamp_ns": (3, "int64"),
        "events": (4, "*XEvent"),
        "display_name": (11, "string"),
    },
    "XEvent": {
        "metadata_id": (1, "int64"),
        "offset_ps": (2, "int64"),
        "duration_ps": (3, "int64"),
        "stats": (4, "*XStat"),
        "num_occurrences": (5, "int64"),
    },
    "XStat": {
        "metadata_id": (1, "int64"),
        "double_value": (2, "double"),
        "uint64_value": (3, "uint64"),
        "int64_value": (4, "int64"),
        "str_value": (5, "string"),
        "ref_value": (7, "uint64"),
    },
    "XEventMetadata": {"id": (1, "int64"), "name": (2, "string")},
    "XStatMetadata": {"id": (1, "int64"), "name": (2, "string")},
}


def _declare() -> type:
    file = descriptor_pb2.FileDescriptorProto(name="planted.proto", package="planted")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            many, plain = kind.startswith("*"), kind.lstrip("*")
            made = message.field.add(name=field, number=number)
            made.label = 3 if many else 1
            made.type = _TYPES.get(plain, 11)
            if plain not in _TYPES:
                made.type_name = f".planted.{plain}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file) if hasattr(pool, "Add") else pool.AddSerializedFile(
        file.SerializeToString()
    )
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("planted.XSpace"))


XSpace = _declare()


class Space:
    def __init__(self) -> None:
        self.message = XSpace(hostnames=["planted"])

    def plane(self, name: str, **stats: Any) -> Plane:
        return Plane(self.message.planes.add(name=name), stats)

    def host(self) -> Plane:
        return self.plane("/host:CPU")

    def gpu(self, number: int = 0, **stats: Any) -> Plane:
        known = {"compute_cap_major": 7, "compute_cap_minor": 0, "core_count": 80}
        return self.plane(f"/device:GPU:{number}", **{**known, **stats})

    def bytes(self) -> bytes:
        return self.message.SerializeToString()

    def save(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.bytes())
        return path


class Plane:
    def __init__(self, message: Any, stats: dict[str, Any]) -> None:
        self.message = message
        self._names: dict[str, int] = {}
        self._stats: dict[str, int] = {}
        for name, value in stats.items():
            self.stat(message.stats.add(), name, value)

    def line(self, name: str, at_ns: int = 1_000_000) -> Line:
        number = len(self.message.lines) + 1
        return Line(self, self.message.lines.add(id=number, name=name), at_ns)

    def name(self, name: str) -> int:
        if name not in self._names:
            key = self._names[name] = len(self._names) + 1
            entry = self.message.event_metadata.add(key=key)
            entry.value.id, entry.value.name = key, name
        return self._names[name]

    def stat_name(self, name: str) -> int:
        if name not in self._stats:
            key = self._stats[name] = len(self._stats) + 1
            entry = self.message.stat_metadata.add(key=key)
            entry.value.id, entry.value.name = key, name
        return self._stats[name]

    def stat(self, message: Any, name: str, value: Any) -> None:
        message.metadata_id = self.stat_name(name)
        if isinstance(value, float):
            message.double_value = value
        elif isinstance(value, int):
            message.int64_value = value
        elif value.startswith("&"):
            message.ref_value = self.stat_name(value[1:])
        else:
            message.str_value = value


class Line:
    def __init__(self, plane: Plane, message: Any, at_ns: int) -> None:
        self.plane, self.message = plane, message
        message.timestamp_ns = at_ns
        self._shift = at_ns - 1_000_000

    def add(self, name: str, start: float, end: float, **stats: Any) -> Line:
        event = self.message.events.add(metadata_id=self.plane.name(name))
        event.offset_ps = round(start * 1e9) - 1000 * self._shift
        event.duration_ps = round((end - start) * 1e9)
        for stat, value in stats.items():
            self.plane.stat(event.stats.add(), stat, value)
        return self


STEP_MS = 100.0
PARTS = {
    "compute": 30.0,
    "copy-in": 10.0,
    "copy-out": 5.0,
    "input": 20.0,
    "host-op": 8.0,
    "launch": 12.0,
    "python": 9.0,
    "compile": 4.0,
    "unknown": 2.0,
}
"""One step of `planted`, in ms; the order is that of time, `input` first."""


def planted(
    steps: int = 4,
    *,
    markers: str = "step_num",
    devices: int = 1,
    gpu: str = "/device:GPU:{}",
    shift_ns: int = 0,
) -> Space:
    """A job whose every step is known: see PARTS. `markers` are what tells steps
    apart: step_num, function, steps-line, iterator or kernels."""
    space = Space()
    host = space.host()
    main, data = host.line("python"), host.line("tf_data_iterator_get_next/1")
    work = host.line("tf_Compute/2", 1_000_000 + shift_ns)
    planes = [
        space.plane(gpu.format(n), compute_cap_major=7, compute_cap_minor=0)
        for n in range(devices)
    ]
    streams = [plane.line("Stream #13(Compute)") for plane in planes]
    copies = [plane.line("Stream #14(Memcpy)") for plane in planes]
    marks = [plane.line("Steps") for plane in planes]
    for step in range(steps + 1):
        at = step * STEP_MS
        if markers == "step_num":
            main.add("train", at, at + 91, step_num=step, _r=1)
        elif markers == "function":
            main.add("step", at, at + 91, tf_function_call="notTraced-nonXla")
        if markers == "steps-line":
            for line in marks:
                line.add(str(step), at, at + 100)
        if markers in ("step_num", "function", "iterator", "steps-line"):
            main.add("TFE_Py_ExecuteCancelable", at, at + 91)
            main.add("EagerKernelExecute", at, at + 91)
        if markers != "kernels":
            data.add("IteratorGetNextOp::DoCompute", at, at + 20, id=7)
            work.add("ExecutorState::Process", at + 30, at + 42, id=7)
            work.add("lookup:LookupTableFindV2", at + 42, at + 50)
            main.add("tf.function-graph_building", at + 85, at + 89)
        for stream, copy in zip(streams, copies, strict=True):
            details = "kind_src:pageable size:50000000 dest:0 async:1"
            copy.add("MemcpyH2D", at + 20, at + 30, memcpy_details=details)
            stream.add("volta_sgemm_128x64_nn", at + 50, at + 70, tf_op="a:MatMul")
            stream.add("bias_kernel", at + 70, at + 80, tf_op="a:BiasAdd")
            copy.add("MemcpyD2H", at + 80, at + 85, memcpy_details="size:4 dest:0")
    return space
