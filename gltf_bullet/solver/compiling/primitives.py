"""What kernels do that no Python can: Numba's side of ``declaring.PRIMITIVES``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["call", "doubles_at", "floats_at", "ints_at", "words_at"]

_types: Any = numba.types
_intrinsic: Any = intrinsic
_arrays: Any = arrayobj


def _array_of(item: Any) -> Any:
    """What makes an address and a length an array, as Numba's ``carray`` does with allocations."""
    kind = _types.Array(item, 1, "C")

    def declare(_context: object, _address: object, _count: object) -> Any:
        def generate(context: Any, builder: Any, _signature: object, values: Any) -> Any:
            made = _arrays.make_array(kind)(context, builder)
            size = context.get_constant(_types.intp, 8)
            _arrays.populate_array(
                made,
                data=builder.inttoptr(values[0], made.data.type),
                shape=[values[1]],
                strides=[size],
                itemsize=size,
                meminfo=None,
            )
            return made._getvalue()  # noqa: SLF001

        return kind(_types.int64, _types.int64), generate

    return _intrinsic(declare)


words_at: Callable[[int, int], IntArray] = _array_of(_types.int64)
"""Integers in memory."""
doubles_at: Callable[[int, int], FloatArray] = _array_of(_types.float64)
"""Floats in memory."""


def _ints_at(table: Any, row: int, column: int) -> IntArray:
    return words_at(table[row, column], table[row, column + 1])


def _floats_at(table: Any, row: int, column: int) -> FloatArray:
    return doubles_at(table[row, column], table[row, column + 1])


# What yields an array is put into the code around it: without allocations none can be returned.
_inlined: Any = numba.njit(inline="always")
ints_at: Callable[[Any, int, int], IntArray] = _inlined(_ints_at)
"""Integers whose address and length stand in a table."""
floats_at: Callable[[Any, int, int], FloatArray] = _inlined(_floats_at)
"""Floats whose address and length stand in a table."""


def _declare_call(_context: object, _address: object, arguments: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        parts: Any = cgutils.unpack_tuple(builder, values[1])  # type: ignore[no-untyped-call]
        kinds = [context.get_value_type(kind) for kind in signature.args[1].types]
        function = ir.FunctionType(ir.IntType(64), kinds)
        return builder.call(builder.inttoptr(values[0], function.as_pointer()), parts)

    kinds = _types.Tuple([_types.unliteral(kind) for kind in arguments.types])
    return _types.int64(_types.int64, kinds), generate


call: Callable[[int, tuple[Any, ...]], int] = _intrinsic(_declare_call)
"""Call a C function by its address."""
