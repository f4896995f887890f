"""A vector of float32 lanes for numba: what a kernel holds in a register.

LLVM vectorises simple loops by itself, but not a tile of a matrix product whose
rows may overlap in memory: it cannot prove that they do not. Here a kernel says
which values are vectors, and LLVM makes them AVX2, AVX-512 or NEON registers.

    a = load(x, i)            lanes x[i], x[i + 1], ...
    store(x, i, a)            the reverse
    splat(s)                  s in every lane
    fma(a, b, c)              a * b + c, rounded once
    a + b, a - b, a * b, a / b
    lane(a, k)                lane k, in every lane; k is a constant
    sums(a, b, c, d, e, f)    lane 0 is the sum of a's lanes, lane 1 of b's, ...
    prefetch(x, i)            the cache line of x[i] will be needed soon

Nothing here knows about words.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils, config
from numba.core.codegen import get_host_cpu_features
from numba.core.datamodel import models
from numba.extending import intrinsic, lower_builtin, register_model, type_callable


def _width() -> int:
    """The lanes of a register, on the processor that numba compiles for: what it has
    compiled is kept by that processor's name and features, not by this one's."""
    features = config.CPU_FEATURES
    if features is None:
        features = get_host_cpu_features()
    return 16 if "+avx512f" in features.split(",") else 8


WIDTH = _width()
TILE = 6  # outputs that a tile holds in registers; see `sums`

_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
LANES = ir.VectorType(_FLOAT, WIDTH)
_INTS = ir.VectorType(_INT, WIDTH)


class VectorType(types.Type):  # type: ignore[misc]
    """The type of `WIDTH` lanes of float32."""

    def __init__(self) -> None:
        super().__init__(name=f"float32x{WIDTH}")


vector = VectorType()


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, LANES)


def _arithmetic(symbol: Any, emit: str) -> None:
    @type_callable(symbol)
    def typed(context: Any) -> Callable[[Any, Any], Any]:  # noqa: ARG001
        def rule(a: Any, b: Any) -> Any:
            return vector if a is vector and b is vector else None

        return rule

    @lower_builtin(symbol, VectorType, VectorType)
    def lowered(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        return getattr(builder, emit)(*args, flags=("fast",))


for _symbol, _emit in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _arithmetic(_symbol, _emit)


def _address(context: Any, builder: Any, sig: Any, args: Any, to: ir.Type) -> Any:
    array = context.make_array(sig.args[0])(context, builder, args[0])
    index = context.cast(builder, args[1], sig.args[1], types.intp)
    return builder.bitcast(builder.gep(array.data, [index]), to.as_pointer())


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:  # noqa: ARG001
    """Lanes array[index], array[index + 1], ..."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, sig, args, LANES), align=4)

    return vector(array, index), emit


@intrinsic
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:  # noqa: ARG001
    """Write the lanes to array[index], array[index + 1], ..."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _address(context, builder, sig, args, LANES)
        builder.store(args[2], pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, index, value), emit


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:  # noqa: ARG001
    """Ask for the cache line of array[index]."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        pointer = _address(context, builder, sig, args, ir.IntType(8))
        kind = ir.FunctionType(ir.VoidType(), [byte, _INT, _INT, _INT])
        function = cgutils.get_or_insert_function(
            builder.module, kind, "llvm.prefetch.p0i8"
        )
        builder.call(function, [pointer, _INT(1), _INT(3), _INT(1)])
        return context.get_dummy_value()

    return types.void(array, index), emit


@intrinsic
def splat(typing: Any, value: Any) -> Any:  # noqa: ARG001
    """The same number in every lane."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        scalar = context.cast(builder, args[0], sig.args[0], types.float32)
        one = builder.insert_element(ir.Constant(LANES, ir.Undefined), scalar, _INT(0))
        mask = ir.Constant(_INTS, [0] * WIDTH)
        return builder.shuffle_vector(one, one, mask)

    return vector(value), emit


@intrinsic
def lane(typing: Any, value: Any, index: Any) -> Any:  # noqa: ARG001
    """Lane `index`, a constant, in every lane."""
    if not isinstance(index, types.IntegerLiteral):
        return None
    place = index.literal_value

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        mask = ir.Constant(_INTS, [place] * WIDTH)
        return builder.shuffle_vector(args[0], args[0], mask)

    return vector(value, index), emit


def _call(builder: Any, name: str, args: Any) -> Any:
    kind = ir.FunctionType(LANES, [LANES] * len(args))
    symbol = f"llvm.{name}.v{WIDTH}f32"
    function = cgutils.get_or_insert_function(builder.module, kind, symbol)
    return builder.call(function, args)


def multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, as LLVM has it."""
    return _call(builder, "fmuladd", [a, b, c])


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:  # noqa: ARG001
    """a * b + c, rounded once where the processor can."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        return multiply_add(builder, *args)

    return vector(a, b, c), emit


@intrinsic
def nearest(typing: Any, a: Any) -> Any:  # noqa: ARG001
    """The nearest whole number."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        return _call(builder, "rint", args)

    return vector(a), emit


@intrinsic
def root(typing: Any, a: Any) -> Any:  # noqa: ARG001
    """The square root."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        return _call(builder, "sqrt", args)

    return vector(a), emit


@intrinsic
def least(typing: Any, a: Any, b: Any) -> Any:  # noqa: ARG001
    """The smaller of each two lanes."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        a, b = args
        return builder.select(builder.fcmp_ordered("<", a, b), a, b)

    return vector(a, b), emit


@intrinsic
def most(typing: Any, a: Any, b: Any) -> Any:  # noqa: ARG001
    """The larger of each two lanes."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        a, b = args
        return builder.select(builder.fcmp_ordered(">", a, b), a, b)

    return vector(a, b), emit


def _halves(builder: Any, a: Any, b: Any, step: int) -> Any:
    """Fold each run of `2 * step` lanes of a and of b to `step` lanes, side by side."""
    low: list[int] = []
    for start in range(0, WIDTH, 2 * step):
        low += range(start, start + step)
        low += range(WIDTH + start, WIDTH + start + step)
    high = [index + step for index in low]
    return builder.fadd(
        builder.shuffle_vector(a, b, ir.Constant(_INTS, low)),
        builder.shuffle_vector(a, b, ir.Constant(_INTS, high)),
        flags=("fast",),
    )


def fold(builder: Any, parts: list[Any]) -> Any:
    """Lane i of the result is the sum of the lanes of parts[i]; the others are 0.

    Folding vectors against each other takes a third of the instructions that
    summing each alone would. The places come out with their bits reversed,
    so they are put in that way.
    """
    nothing = ir.Constant(LANES, [0.0] * WIDTH)
    parts = [*parts, *([nothing] * (WIDTH - len(parts)))]
    bits = WIDTH.bit_length() - 1
    order = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(WIDTH)]
    level = [parts[i] for i in order]
    step = WIDTH // 2
    while len(level) > 1:
        level = [
            _halves(builder, level[i], level[i + 1], step)
            for i in range(0, len(level), 2)
        ]
        step //= 2
    return level[0]


@intrinsic
def sums(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:  # noqa: ARG001
    """Lane 0 is the sum of a's lanes, ..., lane 5 of f's; the others are 0."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        return fold(builder, list(args))

    return vector(a, b, c, d, e, f), emit


@intrinsic
def total(typing: Any, value: Any) -> Any:  # noqa: ARG001
    """The sum of the lanes, a float32."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        current, step = args[0], WIDTH // 2
        while step:
            mask = [(i + step) % WIDTH for i in range(WIDTH)]
            moved = builder.shuffle_vector(current, current, ir.Constant(_INTS, mask))
            current = builder.fadd(current, moved, flags=("fast",))
            step //= 2
        return builder.extract_element(current, _INT(0))

    return types.float32(value), emit


@intrinsic
def power_of_two(typing: Any, value: Any) -> Any:  # noqa: ARG001
    """2 ** value, where value is whole and within -126 ... 127."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        whole = builder.fptosi(args[0], _INTS)
        biased = builder.add(whole, ir.Constant(_INTS, [127] * WIDTH))
        bits = builder.shl(biased, ir.Constant(_INTS, [23] * WIDTH))
        return builder.bitcast(bits, LANES)

    return vector(value), emit


@intrinsic
def exponent(typing: Any, value: Any) -> Any:  # noqa: ARG001
    """e, as a number, where value = m * 2 ** e and 1 <= m < 2."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        bits = builder.bitcast(args[0], _INTS)
        biased = builder.lshr(bits, ir.Constant(_INTS, [23] * WIDTH))
        whole = builder.sub(biased, ir.Constant(_INTS, [127] * WIDTH))
        return builder.sitofp(whole, LANES)

    return vector(value), emit


@intrinsic
def mantissa(typing: Any, value: Any) -> Any:  # noqa: ARG001
    """m, where value = m * 2 ** e and 1 <= m < 2."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        bits = builder.bitcast(args[0], _INTS)
        kept = builder.and_(bits, ir.Constant(_INTS, [0x7FFFFF] * WIDTH))
        one = builder.or_(kept, ir.Constant(_INTS, [0x3F800000] * WIDTH))
        return builder.bitcast(one, LANES)

    return vector(value), emit


@njit(nogil=True, cache=True, inline="always")
def sigmoid(z: Any) -> Any:
    """1 / (1 + exp(-z)), within two units of the last place; |z| at most 40.

    exp is 2 to a whole power, which is bits, times 2 to a fraction within a
    half, which is a polynomial.
    """
    bounded = most(least(z, splat(40.0)), splat(-40.0))
    t = bounded * splat(-1.4426950408889634)
    whole = nearest(t)
    f = t - whole
    p = splat(1.5403530e-4)
    p = fma(p, f, splat(1.3333558e-3))
    p = fma(p, f, splat(9.6181291e-3))
    p = fma(p, f, splat(5.5504109e-2))
    p = fma(p, f, splat(2.4022651e-1))
    p = fma(p, f, splat(6.9314718e-1))
    p = fma(p, f, splat(1.0))
    return splat(1.0) / fma(p, power_of_two(whole), splat(1.0))
