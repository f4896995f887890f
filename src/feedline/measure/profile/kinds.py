"""What an instant of a captured step can be: its kinds, in order of priority.

Every instant gets exactly one kind, the first in this order that some event of
the capture supports, so that the shares of a step add up to 1. A device that
computes is computing, whatever the host does beside it; only where all devices
are idle does it matter what the host was doing.
"""

from __future__ import annotations

LABELS: dict[str, str] = {
    "compute": "computing",
    "exchange": "exchanging with other devices, or waiting for them",
    "copy-in": "copying to the device",
    "copy-out": "copying from the device",
    "compile": "tracing or compiling",
    "input": "waiting for input",
    "host-op": "operations on the CPU",
    "launch": "launching: calls, scheduling, gaps between kernels",
    "python": "Python between the steps",
    "unknown": "unknown",
}

KINDS: dict[str, str] = {
    "compute": "compute",  # a device computes
    "exchange": "overhead",  # devices exchange or wait for one another
    "copy-in": "transfer",  # host to device
    "copy-out": "transfer",  # device to host
    "compile": "overhead",  # a function is traced or compiled
    "input": "input",  # the step waits for the iterator
    "host-op": "compute",  # an operation of the step runs on the CPU
    "launch": "overhead",  # the host enqueues kernels and schedules operations
    "python": "overhead",  # Python between the steps
    "unknown": "overhead",  # nothing in the capture explains it
}
"""Kind -> the report's share under which it is counted. What is not known is
counted as overhead, never as computing: the device was idle."""
