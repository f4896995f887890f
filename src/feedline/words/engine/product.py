"""The two walks of a tile, emitted for any number of input and output rows.

    dots(outputs)            twelve dot products: two inputs against six outputs; a
                             vector for each input, a lane for each output
    move(inputs, outputs)    all rows along their gradients, `errors` being a vector
                             for each input with a lane for each output

Every sum of a walk lives in a register. Written out by hand, each of these shapes
would be a page; the compiler does not unroll tuples of vectors by itself.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from feedline.words.engine.simd import LANES, WIDTH, fold, multiply_add, vector

_WORD = ir.IntType(64)


class _Rows:
    """Rows of a matrix, each from the place where it starts."""

    def __init__(self, builder: Any, data: Any, starts: list[Any]) -> None:
        self.builder, self.data, self.starts = builder, data, starts

    def _address(self, row: int, at: Any) -> Any:
        place = self.builder.add(self.starts[row], at)
        address = self.builder.gep(self.data, [place])
        return self.builder.bitcast(address, LANES.as_pointer())

    def load(self, row: int, at: Any) -> Any:
        return self.builder.load(self._address(row, at), align=4)

    def store(self, row: int, at: Any, value: Any) -> None:
        self.builder.store(value, self._address(row, at), align=4)


def _inputs(context: Any, builder: Any, sig: Any, args: Any) -> _Rows:
    data = context.make_array(sig.args[0])(context, builder, args[0]).data
    return _Rows(builder, data, cgutils.unpack_tuple(builder, args[1]))


def _outputs(context: Any, builder: Any, sig: Any, args: Any, count: int) -> _Rows:
    data = context.make_array(sig.args[2])(context, builder, args[2]).data
    rows = context.make_array(sig.args[3])(context, builder, args[3]).data
    at = context.cast(builder, args[4], sig.args[4], types.intp)
    places = [builder.add(at, _WORD(i)) for i in range(count)]
    starts = [builder.load(builder.gep(rows, [place])) for place in places]
    return _Rows(builder, data, starts)


def _walk(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """A loop over the dimension, a vector at a time."""
    depth = context.cast(builder, args[5], sig.args[5], types.intp)
    return cgutils.for_range_slice(builder, _WORD(0), depth, _WORD(WIDTH), inc=True)


def dots(outputs: int) -> Any:
    """Two inputs against so many outputs."""

    @intrinsic
    def product(typing, x, ins, y, rows, at, depth):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            mine = _inputs(context, builder, sig, args)
            theirs = _outputs(context, builder, sig, args, outputs)
            zero = ir.Constant(LANES, [0.0] * WIDTH)
            sums = [
                [cgutils.alloca_once_value(builder, zero) for _ in range(outputs)]
                for _ in range(2)
            ]
            for each in (*sums[0], *sums[1]):
                builder.store(zero, each)
            with _walk(context, builder, sig, args) as (d, _):
                both = [mine.load(i, d) for i in range(2)]
                for j in range(outputs):
                    row = theirs.load(j, d)
                    for i in range(2):
                        kept = builder.load(sums[i][j])
                        kept = multiply_add(builder, both[i], row, kept)
                        builder.store(kept, sums[i][j])
            folded = [fold(builder, [builder.load(e) for e in each]) for each in sums]
            return context.make_tuple(builder, sig.return_type, folded)

        return types.UniTuple(vector, 2)(x, ins, y, rows, at, depth), emit

    return product


def move(inputs: int, outputs: int) -> Any:
    """So many inputs and outputs, each by its errors times the others as they were.

    Of outputs that are one row the later ones see the step of the earlier; an input's
    row is loaded once more before its step is added, as two may be one word.
    """

    @intrinsic
    def moved(typing, x, ins, y, rows, at, depth, errors):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            mine = _inputs(context, builder, sig, args)
            theirs = _outputs(context, builder, sig, args, outputs)
            packed = cgutils.unpack_tuple(builder, args[6])
            error = [[_spread(builder, e, j) for j in range(outputs)] for e in packed]
            with _walk(context, builder, sig, args) as (d, _):
                old = [mine.load(i, d) for i in range(inputs)]
                steps = [ir.Constant(LANES, [0.0] * WIDTH)] * inputs
                for j in range(outputs):
                    row = theirs.load(j, d)
                    new = row
                    for i in range(inputs):
                        steps[i] = multiply_add(builder, error[i][j], row, steps[i])
                        new = multiply_add(builder, error[i][j], old[i], new)
                    theirs.store(j, d, new)
                for i in range(inputs):
                    own = builder.fadd(mine.load(i, d), steps[i], flags=("fast",))
                    mine.store(i, d, own)
            return context.get_dummy_value()

        return types.void(x, ins, y, rows, at, depth, errors), emit

    return moved


def _spread(builder: Any, value: Any, place: int) -> Any:
    """One lane in every lane."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [place] * WIDTH)
    return builder.shuffle_vector(value, value, mask)
