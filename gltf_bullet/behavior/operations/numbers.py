"""Functions of numbers as the text defines them, special values included ("Math Operations")."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from gltf_bullet.behavior.operations.declaring import declare
from gltf_bullet.behavior.values import SIZES, wrapped

_NAN: Final = math.nan
_INF: Final = math.inf
_WHOLE: Final = 2.0**52
"""Magnitude from which on every number is an integer."""


def _each(one: Callable[..., float]) -> Callable[[str], Callable[..., object]]:
    """A function of every float type from a function of numbers, component by component."""

    def of_type(kind: str) -> Callable[..., object]:
        if SIZES[kind] == 1:
            return one
        return lambda *values: tuple(map(one, *values))

    return of_type


def _guarded(function: Callable[[float], float], beyond: float = _NAN) -> Callable[[float], float]:
    """A function of Python's ``math`` that returns NaN or infinity instead of raising."""

    def guarded(a: float) -> float:
        try:
            return function(a)
        except ValueError:
            return _NAN
        except OverflowError:
            return beyond

    return guarded


# --- arithmetic -------------------------------------------------------------------------------


def _absolute(a: float) -> float:
    return abs(a)


def _sign(a: float) -> float:
    return a if a == 0.0 or a != a else math.copysign(1.0, a)


def _truncated(a: float) -> float:
    return a if not abs(a) < _WHOLE else math.copysign(float(int(a)), a)


def _floor(a: float) -> float:
    return a if not abs(a) < _WHOLE or a == 0.0 else float(math.floor(a))


def _ceiling(a: float) -> float:
    return a if not abs(a) < _WHOLE else math.copysign(float(math.ceil(a)), a)


def _rounded(a: float) -> float:
    size = abs(a)
    if not size < _WHOLE:
        return a
    whole = float(int(size))
    return math.copysign(whole + 1.0 if size - whole >= 0.5 else whole, a)


def _fraction(a: float) -> float:
    return a - _floor(a)


def _negated(a: float) -> float:
    return -a


def _sum(a: float, b: float) -> float:
    return a + b


def _difference(a: float, b: float) -> float:
    return a - b


def _product(a: float, b: float) -> float:
    return a * b


def quotient(a: float, b: float) -> float:
    """``a / b`` by the rules of IEEE 754."""
    if b != 0.0:
        return a / b
    if a == 0.0 or a != a or b != b:
        return _NAN
    return math.copysign(_INF, a) * math.copysign(1.0, b)


def _remainder(a: float, b: float) -> float:
    try:
        return math.fmod(a, b)
    except ValueError:
        return _NAN


def minimum(a: float, b: float) -> float:
    """The smaller number; NaN if one is NaN, and -0 is less than +0."""
    if a != a or b != b:
        return _NAN
    if a == b:
        return a if math.copysign(1.0, a) < 0.0 else b
    return a if a < b else b


def maximum(a: float, b: float) -> float:
    """The larger number; NaN if one is NaN, and -0 is less than +0."""
    if a != a or b != b:
        return _NAN
    if a == b:
        return b if math.copysign(1.0, a) < 0.0 else a
    return a if a > b else b


def _clamped(a: float, b: float, c: float) -> float:
    return minimum(maximum(a, minimum(b, c)), maximum(b, c))


def _saturated(a: float) -> float:
    return minimum(maximum(a, 0.0), 1.0)


def _mixed(a: float, b: float, c: float) -> float:
    return (1.0 - c) * a + c * b


def _smooth_step(a: float, b: float, c: float) -> float:
    t = _saturated(quotient(c - minimum(a, b), abs(b - a)))
    return t * t * (3.0 - 2.0 * t)


declare("math/E", "Euler's number", ("-> float value", lambda: math.e))
declare("math/Pi", "half a turn in radians", ("-> float value", lambda: math.pi))
declare("math/Tau", "a turn in radians", ("-> float value", lambda: math.tau))
declare("math/Inf", "positive infinity", ("-> float value", lambda: _INF))
declare("math/NaN", "not a number", ("-> float value", lambda: _NAN))

_ONE = "numbers a -> numbers value"
_TWO = "numbers a, numbers b -> numbers value"
_THREE = "numbers a, numbers b, numbers c -> numbers value"
_INT_ONE = "int a -> int value"
_INT_TWO = "int a, int b -> int value"
_INT_THREE = "int a, int b, int c -> int value"
_ANGLE = "floatN a -> floatN value"


def _int_sign(a: int) -> int:
    return (a > 0) - (a < 0)


def _int_quotient(a: int, b: int) -> int:
    if b == 0:
        return 0
    size = abs(a) // abs(b)
    return wrapped(-size if (a < 0) != (b < 0) else size)


def _int_remainder(a: int, b: int) -> int:
    if b == 0:
        return 0
    size = abs(a) % abs(b)
    return -size if a < 0 else size


def _int_clamped(a: int, b: int, c: int) -> int:
    return min(max(a, min(b, c)), max(b, c))


declare(
    "math/abs", "absolute value",
    (_ONE, _each(_absolute)), (_INT_ONE, lambda a: wrapped(abs(a))),
)  # fmt: skip
declare("math/sign", "sign", (_ONE, _each(_sign)), (_INT_ONE, _int_sign))
declare("math/trunc", "integer towards zero", (_ONE, _each(_truncated)))
declare("math/floor", "integer below", (_ONE, _each(_floor)))
declare("math/ceil", "integer above", (_ONE, _each(_ceiling)))
declare("math/round", "nearest integer, halves away from zero", (_ONE, _each(_rounded)))
declare("math/fract", "a - floor(a)", (_ONE, _each(_fraction)))
declare("math/neg", "-a", (_ONE, _each(_negated)), (_INT_ONE, lambda a: wrapped(-a)))
declare("math/add", "a + b", (_TWO, _each(_sum)), (_INT_TWO, lambda a, b: wrapped(a + b)))
declare("math/sub", "a - b", (_TWO, _each(_difference)), (_INT_TWO, lambda a, b: wrapped(a - b)))
declare(
    "math/mul", "a * b, element by element",
    (_TWO, _each(_product)), (_INT_TWO, lambda a, b: wrapped(a * b)),
)  # fmt: skip
declare("math/div", "a / b", (_TWO, _each(quotient)), (_INT_TWO, _int_quotient))
declare("math/rem", "remainder of a / b", (_TWO, _each(_remainder)), (_INT_TWO, _int_remainder))
declare("math/min", "the smaller one", (_TWO, _each(minimum)), (_INT_TWO, min))
declare("math/max", "the larger one", (_TWO, _each(maximum)), (_INT_TWO, max))
declare("math/clamp", "a between b and c", (_THREE, _each(_clamped)), (_INT_THREE, _int_clamped))
declare("math/saturate", "a between 0 and 1", (_ONE, _each(_saturated)))
declare("math/mix", "(1 - c) a + c b", (_THREE, _each(_mixed)))
declare(
    "math/smoothStep", "Hermite interpolation",
    ("floatN a, floatN b, floatN c -> floatN value", _each(_smooth_step)),
)  # fmt: skip


# --- comparison -------------------------------------------------------------------------------


def _equal(kind: str) -> Callable[..., bool]:
    if SIZES[kind] == 1:
        return lambda a, b: a == b
    # Tuples compare by identity first, so that NaN would equal itself.
    return lambda a, b: all(x == y for x, y in zip(a, b, strict=True))


declare(
    "math/eq", "a = b",
    ("numbers a, numbers b -> bool value", _equal),
    ("int a, int b -> bool value", lambda a, b: a == b),
    ("bool a, bool b -> bool value", lambda a, b: a == b),
)  # fmt: skip
for _name, _meaning, _function in (
    ("math/lt", "a < b", lambda a, b: a < b),
    ("math/le", "a <= b", lambda a, b: a <= b),
    ("math/gt", "a > b", lambda a, b: a > b),
    ("math/ge", "a >= b", lambda a, b: a >= b),
):
    declare(
        _name, _meaning,
        ("float a, float b -> bool value", _function), ("int a, int b -> bool value", _function),
    )  # fmt: skip
declare("math/isNaN", "whether a is NaN", ("float a -> bool value", lambda a: a != a))
declare("math/isInf", "whether a is infinite", ("float a -> bool value", math.isinf))


# --- angles and exponentials ------------------------------------------------------------------


def atan2(a: float, b: float) -> float:
    """The angle of (b, a) by the rules of IEEE 754."""
    return math.atan2(a, b)


def _hyperbolic_sine(a: float) -> float:
    try:
        return math.sinh(a)
    except OverflowError:
        return math.copysign(_INF, a)


def _hyperbolic_arctangent(a: float) -> float:
    return math.copysign(_INF, a) if abs(a) == 1.0 else _guarded(math.atanh)(a)


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    guarded = _guarded(function)
    return lambda a: -_INF if a == 0.0 else guarded(a)


def _cube_root(a: float) -> float:
    return float(np.cbrt(a))


def _is_odd(b: float) -> bool:
    return abs(b) < 2.0**53 and b == int(b) and int(b) % 2 == 1


def _power(a: float, b: float) -> float:
    if b == 0.0:
        return 1.0
    if b != b or (abs(a) == 1.0 and math.isinf(b)):
        return _NAN
    try:
        return math.pow(a, b)
    except OverflowError:
        return -_INF if a < 0.0 and _is_odd(b) else _INF
    except ValueError:
        if a != 0.0:
            return _NAN
        return math.copysign(_INF, a) if _is_odd(b) else _INF


declare("math/rad", "degrees to radians", (_ANGLE, _each(lambda a: a * math.pi / 180.0)))
declare("math/deg", "radians to degrees", (_ANGLE, _each(lambda a: a * 180.0 / math.pi)))
for _name, _meaning, _number in (
    ("sin", "sine", _guarded(math.sin)),
    ("cos", "cosine", _guarded(math.cos)),
    ("tan", "tangent", _guarded(math.tan)),
    ("asin", "arcsine", _guarded(math.asin)),
    ("acos", "arccosine", _guarded(math.acos)),
    ("atan", "arctangent", math.atan),
    ("sinh", "hyperbolic sine", _hyperbolic_sine),
    ("cosh", "hyperbolic cosine", _guarded(math.cosh, _INF)),
    ("tanh", "hyperbolic tangent", math.tanh),
    ("asinh", "inverse hyperbolic sine", math.asinh),
    ("acosh", "inverse hyperbolic cosine", _guarded(math.acosh)),
    ("atanh", "inverse hyperbolic tangent", _hyperbolic_arctangent),
    ("exp", "e to the power of a", _guarded(math.exp, _INF)),
    ("log", "natural logarithm", _logarithm(math.log)),
    ("log2", "base-2 logarithm", _logarithm(math.log2)),
    ("log10", "base-10 logarithm", _logarithm(math.log10)),
    ("sqrt", "square root", _guarded(math.sqrt)),
    ("cbrt", "cube root", _cube_root),
):
    declare(f"math/{_name}", _meaning, (_ANGLE, _each(_number)))
declare("math/atan2", "angle of (b, a)", ("floatN a, floatN b -> floatN value", _each(atan2)))
declare("math/pow", "a to the power of b", ("floatN a, floatN b -> floatN value", _each(_power)))


# --- bits and booleans ------------------------------------------------------------------------

_BOOL_TWO = "bool a, bool b -> bool value"
declare(
    "math/not", "all bits turned, or not a",
    (_INT_ONE, lambda a: ~a), ("bool a -> bool value", lambda a: not a),
)  # fmt: skip
declare("math/and", "a and b", (_INT_TWO, lambda a, b: a & b), (_BOOL_TWO, lambda a, b: a and b))
declare("math/or", "a or b", (_INT_TWO, lambda a, b: a | b), (_BOOL_TWO, lambda a, b: a or b))
declare(
    "math/xor", "either a or b", (_INT_TWO, lambda a, b: a ^ b), (_BOOL_TWO, lambda a, b: a != b)
)
declare("math/asr", "a shifted right by b bits", (_INT_TWO, lambda a, b: a >> (b & 31)))
declare("math/lsl", "a shifted left by b bits", (_INT_TWO, lambda a, b: wrapped(a << (b & 31))))
declare("math/clz", "zero bits in front", (_INT_ONE, lambda a: 32 - (a & 0xFFFFFFFF).bit_length()))
declare(
    "math/ctz", "zero bits at the end",
    (_INT_ONE, lambda a: (a & -a).bit_length() - 1 if a else 32),
)  # fmt: skip
declare("math/popcnt", "bits that are set", (_INT_ONE, lambda a: (a & 0xFFFFFFFF).bit_count()))


# --- type conversion --------------------------------------------------------------------------


def _to_int(a: float) -> int:
    return wrapped(int(a)) if math.isfinite(a) else 0


declare("type/boolToInt", "1 where a is true", ("bool a -> int value", int))
declare("type/boolToFloat", "1 where a is true", ("bool a -> float value", float))
declare("type/intToBool", "whether a is not 0", ("int a -> bool value", bool))
declare("type/intToFloat", "the same number", ("int a -> float value", float))
declare(
    "type/floatToBool", "whether a is neither 0 nor NaN",
    ("float a -> bool value", lambda a: a == a and a != 0.0),
)  # fmt: skip
declare("type/floatToInt", "towards zero, modulo 2^32", ("float a -> int value", _to_int))
declare(
    "ref/eq", "whether both refer to the same", ("ref a, ref b -> bool value", lambda a, b: a == b)
)
