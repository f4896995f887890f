"""Linux' Landlock: from now on this process cannot write to the file system, but for a
few places, nor connect or listen by TCP, nor signal others. For good, and for all that
it starts.

Native code writes without Python's knowledge; here the kernel refuses it. What is open
already stays open. To be called before there are other threads: it holds for the one
that calls it and those that it starts. Where the kernel has none, nothing happens.
"""

from __future__ import annotations

import ctypes
import glob
import os
import struct
import sys

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_REFER = 1 << 13
# Removing and making of every kind: bits 4 to 12.
_CHANGE = sum(1 << bit for bit in range(4, 13))
_TCP = 0b11
_SCOPES = 0b11
# Of no use without them, and nothing is kept there.
_DEVICES = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
    *("/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/dri/*", "/dev/kfd"),
)


def restrict(folder: str) -> bool:
    """Writing is left in `folder` and to harmless devices. Could that be had?"""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return _restrict(ctypes.CDLL(None, use_errno=True), folder)
    except (OSError, AttributeError):
        return False


def _restrict(library: ctypes.CDLL, folder: str) -> bool:
    call = library.syscall
    version = call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    if version < 1:
        return False
    writing = _WRITE_FILE | _CHANGE
    writing |= _REFER if version >= 2 else 0
    writing |= _TRUNCATE if version >= 3 else 0
    fields = [writing]
    fields += [_TCP] if version >= 4 else []
    fields += [_SCOPES] if version >= 6 else []
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    size = ctypes.c_size_t(len(attributes))
    rules = call(_CREATE, attributes, size, ctypes.c_uint32(0))
    if rules < 0:
        return False
    try:
        _allow(call, rules, folder, writing)
        for device in (path for each in _DEVICES for path in glob.glob(each)):
            _allow(call, rules, device, writing & (_WRITE_FILE | _TRUNCATE))
        if library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            return False
        return bool(call(_RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0)) == 0)
    finally:
        os.close(rules)


def _allow(call: ctypes._NamedFuncPointer, rules: int, path: str, access: int) -> None:
    try:
        place = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = struct.pack("=Qi", access, place)
        call(_ADD_RULE, ctypes.c_int(rules), _PATH_BENEATH, rule, ctypes.c_uint32(0))
    finally:
        os.close(place)
