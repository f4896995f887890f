"""The few operations of the machine that numba has no name for.

Text is read in little-endian 64-bit words, from any address, and searched for
whitespace 64 bytes at a time. Nothing here checks bounds: the arrays must have
readable bytes beyond the last that counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.core.cgutils import ir
from numba.extending import intrinsic

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_WORD = ir.IntType(64)


def _is_bytes(data: Any) -> bool:
    return isinstance(data, types.Array) and data.dtype == types.uint8


def _pointer(
    context: Any, builder: Any, signature: Any, arguments: Any, to: Any
) -> Any:
    """To the element of the array that the first two arguments name."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    address = cgutils.gep_inbounds(builder, array.data, arguments[1])
    return builder.bitcast(address, to.as_pointer())


@intrinsic
def load64(_typing: Any, data: Any, _at: Any) -> Any:
    """The 64-bit word that starts at byte `_at` of a uint8 array."""
    if not _is_bytes(data):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = _pointer(context, builder, signature, arguments, _WORD)
        return builder.load(word, align=1)

    return types.uint64(data, types.intp), generate


@intrinsic
def store64(_typing: Any, data: Any, _at: Any, _value: Any) -> Any:
    """Put a 64-bit word at byte `_at` of a uint8 array."""
    if not _is_bytes(data):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = _pointer(context, builder, signature, arguments, _WORD)
        builder.store(arguments[2], word, align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, types.uint64), generate


@intrinsic
def whitespace64(_typing: Any, data: Any, _at: Any) -> Any:
    """A bit for each of 64 bytes from `_at` on: is it ASCII whitespace?

    Two comparisons of whole vectors (32, and 9 to 13), whose outcome the
    processor gathers into a mask; LLVM picks the instructions.
    """
    if not _is_bytes(data):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 64)
        start = _pointer(context, builder, signature, arguments, vector)
        text = builder.load(start, align=1)
        spaces, nine, five = (ir.Constant(vector, [byte] * 64) for byte in (32, 9, 5))
        space = builder.icmp_unsigned("==", text, spaces)
        control = builder.icmp_unsigned("<", builder.sub(text, nine), five)
        return builder.bitcast(builder.or_(space, control), _WORD)

    return types.uint64(data, types.intp), generate


@intrinsic
def trailing_zeros(_typing: Any, _value: Any) -> Any:
    """The number of zero bits below the lowest set bit of a uint64 above 0."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def prefetch(_typing: Any, array: Any, _at: Any) -> Any:
    """Ask for the cache line of an element that will be needed soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _pointer(context, builder, signature, arguments, ir.IntType(8))
        byte = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [byte],
            ir.FunctionType(ir.VoidType(), [byte, number, number, number]),
        )
        builder.call(
            function,
            [address] + [ir.Constant(number, value) for value in (0, 3, 1)],
        )
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@njit(inline="always")
def low_bytes(word: Any, size: Any) -> Any:
    """The lowest one to eight bytes of a word; the others are zero."""
    return word & (_ALL >> np.uint64(64 - 8 * size))
