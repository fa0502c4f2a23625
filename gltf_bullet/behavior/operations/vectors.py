"""Vectors, matrices, quaternions and colours as the text defines them.

Plain tuples throughout: arrays of numpy cost more than they save at these sizes, and their sums
depend on the machine. Matrices are tuples of columns, quaternions xyzw. The file is long since all
these operations share a few functions of tuples.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from gltf_bullet.behavior.operations.declaring import declare
from gltf_bullet.behavior.operations.numbers import atan2, quotient
from gltf_bullet.behavior.values import FLOATS, MATRICES, SIZES

Floats: TypeAlias = tuple[float, ...]

_CLOSE: Final = 1e-12
"""Distance from +-1 of cosines of equal or opposite directions: 1.4e-6 rad."""
_TINY: Final = 1e-150
"""Greatest length of a vector whose direction cannot be computed."""
_ROUNDING: Final = 1e-6
"""Amount by which the cosine of two unit vectors of single precision may exceed 1."""


def _dot(a: Floats, b: Floats) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def _scaled(a: Floats, factor: float) -> Floats:
    return tuple([x * factor for x in a])


def _cross(a: Floats, b: Floats) -> Floats:
    (ax, ay, az), (bx, by, bz) = a, b
    return (ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)


def _length(a: Floats) -> float:
    return math.hypot(*a)


def _arccosine(d: float) -> float:
    """The angle of a cosine that rounding may have taken beyond 1; NaN outside of that."""
    if abs(d) <= 1.0:
        return math.acos(d)
    if abs(d) <= 1.0 + _ROUNDING:
        return 0.0 if d > 0.0 else math.pi
    return math.nan


def _normalized(kind: str) -> Callable[[Any], tuple[Any, bool]]:
    if kind == "float":
        return lambda a: (_one_normalized((a,))[0][0], _one_normalized((a,))[1])
    return _one_normalized


def _one_normalized(a: Floats) -> tuple[Floats, bool]:
    length = math.hypot(*a)
    if not 0.0 < length < math.inf:
        return (0.0,) * len(a), False
    return tuple([x / length for x in a]), True


def _perpendicular(a: Floats) -> Floats:
    """A unit vector at right angles to ``a``."""
    smallest = min(range(3), key=lambda k: abs(a[k]))
    axis = tuple(float(k == smallest) for k in range(3))
    return _unit_or_nan(_cross(a, axis))


def blend(a: Any, b: Any, c: float) -> Any:
    """``(1 - c) a + c b``, for numbers or tuples."""
    if isinstance(a, tuple):
        return tuple([(1.0 - c) * x + c * y for x, y in zip(a, b, strict=True)])
    return (1.0 - c) * a + c * b


def _rotate_2d(a: Floats, angle: float) -> Floats:
    if not math.isfinite(angle):
        return (math.nan, math.nan)
    (x, y), cosine, sine = a, math.cos(angle), math.sin(angle)
    return (x * cosine - y * sine, x * sine + y * cosine)


def _rotate_3d(a: Floats, rotation: Floats) -> Floats:
    r, w = rotation[:3], rotation[3]
    once = _cross(r, a)
    twice = _cross(r, once)
    return tuple([x + 2.0 * (u + w * v) for x, u, v in zip(a, twice, once, strict=True)])


def _slerp_2d(a: Floats, b: Floats, c: float) -> Floats:
    length_a, length_b = math.hypot(*a), math.hypot(*b)
    if length_a <= _TINY or length_b <= _TINY:
        return tuple(blend(a, b, c))
    (ax, ay), (bx, by) = _scaled(a, 1.0 / length_a), _scaled(b, 1.0 / length_b)
    angle = _arccosine(ax * bx + ay * by)
    if ax * by - ay * bx < 0.0:
        angle = -angle
    return _scaled(_rotate_2d((ax, ay), c * angle), (1.0 - c) * length_a + c * length_b)


def _slerp_3d(a: Floats, b: Floats, c: float) -> Floats:
    length_a, length_b = math.hypot(*a), math.hypot(*b)
    if length_a <= _TINY or length_b <= _TINY:
        return tuple(blend(a, b, c))
    unit_a, unit_b = _scaled(a, 1.0 / length_a), _scaled(b, 1.0 / length_b)
    cosine = _dot(unit_a, unit_b)
    if cosine >= 1.0 - _CLOSE:
        return tuple(blend(a, b, c))
    is_opposite = cosine <= -1.0 + _CLOSE
    axis = _perpendicular(unit_a) if is_opposite else _unit_or_nan(_cross(unit_a, unit_b))
    turn = _from_axis_angle(axis, c * _arccosine(cosine))
    return _scaled(_rotate_3d(unit_a, turn), (1.0 - c) * length_a + c * length_b)


def _unit_or_nan(a: Floats) -> Floats:
    length = math.hypot(*a)
    return tuple([quotient(x, length) for x in a])


declare(
    "math/length", "length of a",
    ("floatN a -> float value", lambda kind: abs if kind == "float" else _length),
)  # fmt: skip
declare("math/normalize", "direction of a", ("floatN a -> floatN value, bool isValid", _normalized))
declare(
    "math/dot", "dot product",
    (
        "floatN a, floatN b -> float value",
        lambda kind: operator.mul if kind == "float" else _dot,
    ),
)  # fmt: skip
declare("math/cross", "cross product", ("float3 a, float3 b -> float3 value", _cross))
declare(
    "math/rotate2D", "a turned by an angle", ("float2 a, float angle -> float2 value", _rotate_2d)
)
declare(
    "math/rotate3D", "a turned by a quaternion",
    ("float3 a, float4 rotation -> float3 value", _rotate_3d),
)  # fmt: skip
declare(
    "math/slerp", "spherical interpolation of vectors",
    ("float2 a, float2 b, float c -> float2 value", _slerp_2d),
    ("float3 a, float3 b, float c -> float3 value", _slerp_3d),
)  # fmt: skip


# --- matrices ---------------------------------------------------------------------------------


def _side(matrix: Floats) -> int:
    return {4: 2, 9: 3, 16: 4}[len(matrix)]


def _transposed(a: Floats) -> Floats:
    n = _side(a)
    return tuple([a[row + n * column] for row in range(n) for column in range(n)])


def _transformed(a: Floats, b: Floats) -> Floats:
    n = len(a)
    return tuple([_dot(b[row::n], a) for row in range(n)])


def multiplied(a: Floats, b: Floats) -> Floats:
    """Matrix product."""
    n = _side(a)
    rows = [a[row::n] for row in range(n)]
    return tuple([_dot(row, b[n * k : n * k + n]) for k in range(n) for row in rows])


def _minor(a: Floats, n: int, row: int, column: int) -> Floats:
    return tuple([a[r + n * c] for c in range(n) if c != column for r in range(n) if r != row])


def _determinant(a: Floats) -> float:
    if len(a) == 1:
        return a[0]
    if len(a) == 4:
        return a[0] * a[3] - a[2] * a[1]
    n = _side(a)
    total = 0.0
    for column in range(n):
        cofactor = a[n * column] * _determinant(_minor(a, n, 0, column))
        total = total - cofactor if column % 2 else total + cofactor
    return total


def _inverse(a: Floats) -> tuple[Floats, bool]:
    determinant, n = _determinant(a), _side(a)
    if determinant == 0.0 or not math.isfinite(determinant):
        return (0.0,) * len(a), False
    return tuple(
        [
            (-1.0 if (row + column) % 2 else 1.0)
            * _determinant(_minor(a, n, column, row))
            / determinant
            for column in range(n)
            for row in range(n)
        ]
    ), True


def composed(translation: Floats, rotation: Floats, scale: Floats) -> Floats:
    """The matrix of a translation, a rotation xyzw and a scale."""
    (x, y, z, w), (sx, sy, sz) = rotation, scale
    return (
        sx * (1.0 - 2.0 * (y * y + z * z)), sx * 2.0 * (x * y + z * w), sx * 2.0 * (x * z - y * w),
        0.0,
        sy * 2.0 * (x * y - z * w), sy * (1.0 - 2.0 * (x * x + z * z)), sy * 2.0 * (y * z + x * w),
        0.0,
        sz * 2.0 * (x * z + y * w), sz * 2.0 * (y * z - x * w), sz * (1.0 - 2.0 * (x * x + y * y)),
        0.0,
        *translation, 1.0,
    )  # fmt: skip


def _decomposed(a: Floats) -> tuple[Floats, Floats, Floats, bool]:
    translation = a[12:15]
    columns = [a[0:3], a[4:7], a[8:11]]
    scale = [math.hypot(*column) for column in columns]
    if not all(0.0 < size < math.inf for size in scale):
        return translation, (0.0, 0.0, 0.0, 1.0), tuple(scale), False
    b = [tuple([x / s for x in column]) for column, s in zip(columns, scale, strict=True)]
    if _dot(_cross(b[0], b[1]), b[2]) < 0.0:
        scale[0], b[0] = -scale[0], _scaled(b[0], -1.0)
    return translation, _from_columns(*b), tuple(scale), True


def _from_columns(x: Floats, y: Floats, z: Floats) -> Floats:
    """The unit quaternion of a rotation matrix; for a sheared one, one near it."""
    trace = x[0] + y[1] + z[2]
    candidates = (trace, x[0], y[1], z[2])
    largest = max(range(4), key=lambda k: candidates[k])
    if largest == 0:
        q = (y[2] - z[1], z[0] - x[2], x[1] - y[0], 1.0 + trace)
    elif largest == 1:
        q = (1.0 + x[0] - y[1] - z[2], x[1] + y[0], z[0] + x[2], y[2] - z[1])
    elif largest == 2:
        q = (x[1] + y[0], 1.0 + y[1] - x[0] - z[2], y[2] + z[1], z[0] - x[2])
    else:
        q = (z[0] + x[2], y[2] + z[1], 1.0 + z[2] - x[0] - y[1], x[1] - y[0])
    return _unit_or_nan(q)


declare(
    "math/transform", "matrix b times vector a",
    ("float2 a, float2x2 b -> float2 value", _transformed),
    ("float3 a, float3x3 b -> float3 value", _transformed),
    ("float4 a, float4x4 b -> float4 value", _transformed),
)  # fmt: skip
declare("math/transpose", "transposed", ("floatNxN a -> floatNxN value", lambda _: _transposed))
declare("math/determinant", "determinant", ("floatNxN a -> float value", lambda _: _determinant))
declare(
    "math/inverse", "inverse", ("floatNxN a -> floatNxN value, bool isValid", lambda _: _inverse)
)
declare(
    "math/matMul", "matrix product a b",
    ("floatNxN a, floatNxN b -> floatNxN value", lambda _: multiplied),
)  # fmt: skip
declare(
    "math/matCompose", "matrix of translation, rotation and scale",
    ("float3 translation, float4 rotation, float3 scale -> float4x4 value", composed),
)  # fmt: skip
declare(
    "math/matDecompose", "translation, rotation and scale of a matrix",
    # isValid is of an earlier draft: whether the matrix has a rotation.
    ("float4x4 a -> float3 translation, float4 rotation, float3 scale, bool isValid", _decomposed),
)  # fmt: skip


# --- quaternions ------------------------------------------------------------------------------


def _quat_product(a: Floats, b: Floats) -> Floats:
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by + ay * bw + az * bx - ax * bz,
        aw * bz + az * bw + ax * by - ay * bx,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def _from_axis_angle(axis: Floats, angle: float) -> Floats:
    if not math.isfinite(angle):
        return (math.nan,) * 4
    sine = math.sin(0.5 * angle)
    return (axis[0] * sine, axis[1] * sine, axis[2] * sine, math.cos(0.5 * angle))


def _to_axis_angle(a: Floats) -> tuple[Floats, float]:
    x, y, z, w = a
    if abs(abs(w) - 1.0) <= _CLOSE:
        return (1.0, 0.0, 0.0), 0.0
    sine = math.sqrt(1.0 - w * w) if abs(w) < 1.0 else math.nan
    return (x / sine, y / sine, z / sine), 2.0 * _arccosine(w)


def _from_directions(a: Floats, b: Floats) -> Floats:
    cosine = _dot(a, b)
    if cosine >= 1.0 - _CLOSE:
        return (0.0, 0.0, 0.0, 1.0)
    if cosine <= -1.0 + _CLOSE:
        return (*_perpendicular(a), 0.0)
    if cosine != cosine:
        return (math.nan,) * 4
    axis, sine = _unit_or_nan(_cross(a, b)), math.sqrt(0.5 - 0.5 * cosine)
    return (axis[0] * sine, axis[1] * sine, axis[2] * sine, math.sqrt(0.5 + 0.5 * cosine))


def _from_up_forward(up: Floats, forward: Floats) -> Floats:
    side = _cross(up, forward)
    length = math.hypot(*side)
    if length != length or not all(map(math.isfinite, forward)):
        return (math.nan,) * 4
    if length <= 1e-6:
        if math.hypot(*forward) <= _TINY:
            return (math.nan,) * 4
        side = _perpendicular(forward)
    else:
        side = _scaled(side, 1.0 / length)
    return _from_columns(side, _cross(forward, side), forward)


_AXES: Final = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def from_angles(order: str) -> Callable[[float, float, float], Floats]:
    """Intrinsic rotations about the axes in this order: the first one is the leftmost factor."""

    def turned(x: float, y: float, z: float) -> Floats:
        angles = {"x": x, "y": y, "z": z}
        first, second, third = (_from_axis_angle(_AXES[name], angles[name]) for name in order)
        return _quat_product(_quat_product(first, second), third)

    return turned


def quat_slerp(a: Floats, b: Floats, c: float) -> Floats:
    """Spherical interpolation of unit quaternions, along the shorter arc."""
    cosine = _dot(a, b)
    if cosine < 0.0:
        cosine, b = -cosine, _scaled(b, -1.0)
    if cosine >= 1.0 - _CLOSE:
        return tuple(blend(a, b, c))
    angle = _arccosine(cosine)
    if angle != angle or not math.isfinite(c):
        return (math.nan,) * 4
    of_a = math.sin(angle * (1.0 - c)) / math.sin(angle)
    of_b = math.sin(angle * c) / math.sin(angle)
    return tuple([x * of_a + y * of_b for x, y in zip(a, b, strict=True)])


declare(
    "math/quatConjugate", "conjugated",
    ("float4 a -> float4 value", lambda a: (-a[0], -a[1], -a[2], a[3])),
)  # fmt: skip
declare("math/quatMul", "product a b", ("float4 a, float4 b -> float4 value", _quat_product))
declare(
    "math/quatAngleBetween", "angle between rotations",
    ("float4 a, float4 b -> float value", lambda a, b: 2.0 * _arccosine(_dot(a, b))),
)  # fmt: skip
declare(
    "math/quatFromAxisAngle", "rotation about an axis",
    ("float3 axis, float angle -> float4 value", _from_axis_angle),
)  # fmt: skip
declare(
    "math/quatToAxisAngle", "axis and angle of a rotation",
    ("float4 a -> float3 axis, float angle", _to_axis_angle),
)  # fmt: skip
declare(
    "math/quatFromDirections", "rotation that takes a to b",
    ("float3 a, float3 b -> float4 value", _from_directions),
)  # fmt: skip
declare(
    "math/quatFromUpForward", "rotation with these directions up and ahead",
    ("float3 up, float3 forward -> float4 value", _from_up_forward),
)  # fmt: skip
declare(
    "math/quatSlerp", "spherical interpolation of rotations",
    ("float4 a, float4 b, float c -> float4 value", quat_slerp),
)  # fmt: skip


# --- swizzles ---------------------------------------------------------------------------------


def _swizzles() -> None:
    letters = "abcdefghijklmnop"
    for kind in (*FLOATS[1:], *MATRICES):
        size, suffix = SIZES[kind], kind.removeprefix("float")
        parts = ", ".join(f"float {letter}" for letter in letters[:size])
        declare(
            f"math/combine{suffix}", f"{kind} of its numbers",
            (f"{parts} -> {kind} value", lambda *parts: parts),
        )  # fmt: skip
        parts = ", ".join(f"float {k}" for k in range(size))
        declare(
            f"math/extract{suffix}", f"the numbers of a {kind}",
            (f"{kind} a -> {parts}", lambda a: a),
        )  # fmt: skip


_swizzles()


# --- colours ----------------------------------------------------------------------------------

_LMS_OF_RGB: Final = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_LAB_OF_ROOTS: Final = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)
_ROOTS_OF_LAB: Final = (
    (1.0, 0.3963377774, 0.2158037573),
    (1.0, -0.1055613458, -0.0638541728),
    (1.0, -0.0894841775, -1.2914855480),
)
_RGB_OF_LMS: Final = (
    (4.0767416621, -3.3077115913, 0.2309699292),
    (-1.2684380046, 2.6097574011, -0.3413193965),
    (-0.0041960863, -0.7034186147, 1.7076147010),
)


def _to_oklch(r: float, g: float, b: float) -> Floats:
    roots = tuple([float(np.cbrt(_dot(row, (r, g, b)))) for row in _LMS_OF_RGB])
    lightness, green_red, blue_yellow = (_dot(row, roots) for row in _LAB_OF_ROOTS)
    chroma = math.sqrt(green_red * green_red + blue_yellow * blue_yellow)
    return (lightness, chroma, atan2(blue_yellow, green_red))


def _from_oklch(lightness: float, chroma: float, hue: float) -> Floats:
    if not math.isfinite(hue):
        return (math.nan,) * 3
    lab = (lightness, chroma * math.cos(hue), chroma * math.sin(hue))
    lms = tuple([root * root * root for root in (_dot(row, lab) for row in _ROOTS_OF_LAB)])
    return tuple([_dot(row, lms) for row in _RGB_OF_LMS])


declare(
    "math/rgbToOkLCh", "linear RGB to OkLCh",
    ("float r, float g, float b -> float l, float c, float h", _to_oklch),
)  # fmt: skip
declare(
    "math/rgbFromOkLCh", "OkLCh to linear RGB",
    ("float l, float c, float h -> float r, float g, float b", _from_oklch),
)  # fmt: skip
