"""Every pure operation against a table: what the text says, edge cases first."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gltf_bullet.behavior.operations.catalogue import OPERATIONS
from tests.behavior.graphs import outputs
from tools.graph_builder import Typed

NAN, INF = math.nan, math.inf
LOW, HIGH = -(2**31), 2**31 - 1
S = math.sqrt(0.5)

# (operation, inputs in the order of the sockets, outputs in order)
FLOATS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("math/E", (), 2.718281828459045),
    ("math/Pi", (), 3.141592653589793),
    ("math/Tau", (), 6.283185307179586),
    ("math/Inf", (), INF),
    ("math/NaN", (), NAN),
    ("math/abs", (-0.0,), 0.0),
    ("math/abs", (-INF,), INF),
    ("math/abs", ((-1.0, 2.0),), (1.0, 2.0)),
    ("math/abs", (LOW,), LOW),
    ("math/abs", (-3,), 3),
    ("math/sign", (-0.0,), -0.0),
    ("math/sign", (-INF,), -1.0),
    ("math/sign", (NAN,), NAN),
    ("math/sign", (LOW,), -1),
    ("math/sign", (0,), 0),
    ("math/trunc", (-0.5,), -0.0),
    ("math/trunc", (-INF,), -INF),
    ("math/trunc", (1e300,), 1e300),
    ("math/trunc", (-2.7,), -2.0),
    ("math/floor", (-2.5,), -3.0),
    ("math/floor", (-0.0,), -0.0),
    ("math/floor", (INF,), INF),
    ("math/ceil", (-2.5,), -2.0),
    ("math/ceil", (2.1,), 3.0),
    ("math/ceil", (-INF,), -INF),
    ("math/round", (2.5,), 3.0),
    ("math/round", (-2.5,), -3.0),
    ("math/round", (-0.4,), -0.0),
    ("math/round", (0.49999999999999994,), 0.0),
    ("math/round", (INF,), INF),
    ("math/round", (4503599627370497.0,), 4503599627370497.0),
    ("math/fract", (-1.25,), 0.75),
    ("math/fract", (INF,), NAN),
    ("math/neg", (0.0,), -0.0),
    ("math/neg", (LOW,), LOW),
    ("math/add", (HIGH, 1), LOW),
    ("math/add", (INF, -INF), NAN),
    ("math/add", ((1.0, 2.0, 3.0), (1.0, 1.0, 1.0)), (2.0, 3.0, 4.0)),
    ("math/sub", (LOW, 1), HIGH),
    ("math/sub", (1.0, 3.0), -2.0),
    ("math/mul", (HIGH, HIGH), 1),
    ("math/mul", (LOW, -1), LOW),
    ("math/mul", (0.0, INF), NAN),
    ("math/mul", ((1.0, 2.0), (3.0, 4.0)), (3.0, 8.0)),
    ("math/div", (7, -2), -3),
    ("math/div", (7, 0), 0),
    ("math/div", (LOW, -1), LOW),
    ("math/div", (1.0, 0.0), INF),
    ("math/div", (1.0, -0.0), -INF),
    ("math/div", (0.0, 0.0), NAN),
    ("math/div", (1e308, 1e-308), INF),
    ("math/rem", (INF, 2.0), NAN),
    ("math/rem", (5.0, 0.0), NAN),
    ("math/rem", (5.0, INF), 5.0),
    ("math/rem", (-5.5, 2.0), -1.5),
    ("math/rem", (-0.0, 3.0), -0.0),
    ("math/rem", (-7, 3), -1),
    ("math/rem", (7, 0), 0),
    ("math/rem", (LOW, -1), 0),
    ("math/min", (0.0, -0.0), -0.0),
    ("math/min", (NAN, 1.0), NAN),
    ("math/min", (LOW, 3), LOW),
    ("math/max", (-0.0, 0.0), 0.0),
    ("math/max", (1.0, NAN), NAN),
    ("math/max", (2, 3), 3),
    ("math/clamp", (5.0, 3.0, 1.0), 3.0),
    ("math/clamp", (NAN, 0.0, 1.0), NAN),
    ("math/clamp", (-5, 3, 1), 1),
    ("math/saturate", (-0.5,), 0.0),
    ("math/saturate", (INF,), 1.0),
    ("math/mix", (1.0, 3.0, 2.0), 5.0),
    ("math/smoothStep", (0.0, 2.0, 1.0), 0.5),
    ("math/smoothStep", (2.0, 0.0, 1.0), 0.5),
    ("math/smoothStep", (1.0, 1.0, 1.0), NAN),
    ("math/smoothStep", (1.0, 1.0, 2.0), 1.0),
    ("math/eq", (NAN, NAN), False),
    ("math/eq", (0.0, -0.0), True),
    ("math/eq", ((1.0, NAN), (1.0, NAN)), False),
    ("math/eq", ((1.0, 2.0), (1.0, 2.0)), True),
    ("math/eq", (True, True), True),
    ("math/eq", (3, 4), False),
    ("math/lt", (NAN, 1.0), False),
    ("math/lt", (LOW, HIGH), True),
    ("math/le", (-0.0, 0.0), True),
    ("math/gt", (2, 1), True),
    ("math/ge", (NAN, NAN), False),
    ("math/isNaN", (NAN,), True),
    ("math/isNaN", (INF,), False),
    ("math/isInf", (-INF,), True),
    ("math/isInf", (NAN,), False),
    ("math/rad", (180.0,), math.pi),
    ("math/deg", (math.pi,), 180.0),
    ("math/sin", (-0.0,), -0.0),
    ("math/sin", (INF,), NAN),
    ("math/cos", (-INF,), NAN),
    ("math/cos", (0.0,), 1.0),
    ("math/tan", (INF,), NAN),
    ("math/tan", (math.pi / 4,), 0.9999999999999999),
    ("math/asin", (1.0000001,), NAN),
    ("math/asin", (-1.0,), -math.pi / 2),
    ("math/acos", (1.0,), 0.0),
    ("math/acos", (-2.0,), NAN),
    ("math/atan", (-INF,), -math.pi / 2),
    ("math/atan2", (0.0, -0.0), math.pi),
    ("math/atan2", (-0.0, 0.0), -0.0),
    ("math/atan2", (INF, -INF), 3 * math.pi / 4),
    ("math/sinh", (-1000.0,), -INF),
    ("math/sinh", (-0.0,), -0.0),
    ("math/cosh", (-INF,), INF),
    ("math/cosh", (1000.0,), INF),
    ("math/tanh", (-INF,), -1.0),
    ("math/asinh", (-INF,), -INF),
    ("math/acosh", (0.5,), NAN),
    ("math/acosh", (1.0,), 0.0),
    ("math/acosh", (INF,), INF),
    ("math/atanh", (1.0,), INF),
    ("math/atanh", (-1.0,), -INF),
    ("math/atanh", (2.0,), NAN),
    ("math/exp", (-INF,), 0.0),
    ("math/exp", (1000.0,), INF),
    ("math/log", (-0.0,), -INF),
    ("math/log", (-1.0,), NAN),
    ("math/log", (INF,), INF),
    ("math/log2", (8.0,), 3.0),
    ("math/log2", (0.0,), -INF),
    ("math/log10", (1000.0,), 3.0),
    ("math/log10", (-1e-300,), NAN),
    ("math/sqrt", (-0.0,), -0.0),
    ("math/sqrt", (-1.0,), NAN),
    ("math/cbrt", (-27.0,), -3.0),
    ("math/cbrt", (-INF,), -INF),
    ("math/pow", (NAN, 0.0), 1.0),
    ("math/pow", (1.0, INF), NAN),
    ("math/pow", (-1.0, -INF), NAN),
    ("math/pow", (1.0, NAN), NAN),
    ("math/pow", (-8.0, 1.0 / 3.0), NAN),
    ("math/pow", (0.0, -1.0), INF),
    ("math/pow", (-0.0, -1.0), -INF),
    ("math/pow", (-0.0, -2.0), INF),
    ("math/pow", (-10.0, 309.0), -INF),
    ("math/pow", (2.0, 0.5), 2.0**0.5),
    ("math/not", (5,), -6),
    ("math/not", (True,), False),
    ("math/and", (12, 10), 8),
    ("math/and", (True, False), False),
    ("math/or", (12, 10), 14),
    ("math/or", (True, False), True),
    ("math/xor", (12, 10), 6),
    ("math/xor", (True, True), False),
    ("math/asr", (LOW, 31), -1),
    ("math/asr", (8, 33), 4),
    ("math/lsl", (1, 31), LOW),
    ("math/lsl", (3, 32), 3),
    ("math/lsl", (-1, 4), -16),
    ("math/clz", (0,), 32),
    ("math/clz", (-1,), 0),
    ("math/clz", (1,), 31),
    ("math/ctz", (0,), 32),
    ("math/ctz", (LOW,), 31),
    ("math/ctz", (12,), 2),
    ("math/popcnt", (-1,), 32),
    ("math/popcnt", (0,), 0),
    ("math/popcnt", (LOW,), 1),
    ("type/boolToInt", (True,), 1),
    ("type/boolToFloat", (True,), 1.0),
    ("type/intToBool", (LOW,), True),
    ("type/intToBool", (0,), False),
    ("type/intToFloat", (LOW,), -2147483648.0),
    ("type/intToFloat", (0,), 0.0),
    ("type/floatToBool", (NAN,), False),
    ("type/floatToBool", (-0.0,), False),
    ("type/floatToBool", (INF,), True),
    ("type/floatToInt", (2147483648.0,), LOW),
    ("type/floatToInt", (4294967297.5,), 1),
    ("type/floatToInt", (-1.9,), -1),
    ("type/floatToInt", (1e300,), 0),
    ("type/floatToInt", (NAN,), 0),
    ("type/floatToInt", (-INF,), 0),
    ("ref/eq", (Typed("ref"), Typed("ref")), True),
    ("ref/eq", (Typed("ref"), Typed("ref", "/nodes/0")), True),  # no such node: null
]

VECTORS: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]] = [
    ("math/length", ((INF, NAN),), (INF,)),
    ("math/length", ((1.0, NAN),), (NAN,)),
    ("math/length", ((-0.0, 0.0),), (0.0,)),
    ("math/length", ((3e200, 4e200),), (5e200,)),
    ("math/length", (-3.0,), (3.0,)),
    ("math/normalize", ((3.0, 4.0),), ((0.6, 0.8), True)),
    ("math/normalize", ((-0.0, 0.0),), ((0.0, 0.0), False)),
    ("math/normalize", ((INF, 1.0),), ((0.0, 0.0), False)),
    ("math/normalize", ((NAN, 1.0, 1.0),), ((0.0, 0.0, 0.0), False)),
    ("math/normalize", (-2.0,), (-1.0, True)),
    ("math/dot", ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)), (32.0,)),
    ("math/dot", ((INF, 1.0), (0.0, 1.0)), (NAN,)),
    ("math/cross", ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), ((0.0, 0.0, 1.0),)),
    ("math/rotate2D", ((1.0, 0.0), math.pi / 2), ((0.0, 1.0),)),
    ("math/rotate2D", ((1.0, 0.0), INF), ((NAN, NAN),)),
    ("math/rotate3D", ((1.0, 0.0, 0.0), (0.0, 0.0, S, S)), ((0.0, 1.0, 0.0),)),
    ("math/slerp", ((1.0, 0.0), (0.0, 2.0), 0.5), ((1.5 * S, 1.5 * S),)),
    ("math/slerp", ((1.0, 0.0), (0.0, -1.0), 0.5), ((S, -S),)),
    ("math/slerp", ((0.0, 0.0), (2.0, 0.0), 0.5), ((1.0, 0.0),)),
    ("math/slerp", ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), 0.5), ((S, S, 0.0),)),
    ("math/slerp", ((1.0, 0.0, 0.0), (3.0, 0.0, 0.0), 0.5), ((2.0, 0.0, 0.0),)),
    ("math/quatConjugate", ((1.0, -2.0, 3.0, 4.0),), ((-1.0, 2.0, -3.0, 4.0),)),
    ("math/quatMul", ((S, 0.0, 0.0, S), (S, 0.0, 0.0, S)), ((1.0, 0.0, 0.0, 0.0),)),
    ("math/quatAngleBetween", ((0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0)), (math.pi,)),
    ("math/quatAngleBetween", ((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0)), (0.0,)),
    ("math/quatAngleBetween", ((0.0, 0.0, 0.0, 2.0), (0.0, 0.0, 0.0, 2.0)), (NAN,)),
    ("math/quatFromAxisAngle", ((0.0, 1.0, 0.0), math.pi), ((0.0, 1.0, 0.0, 0.0),)),
    ("math/quatFromAxisAngle", ((0.0, 1.0, 0.0), NAN), ((NAN, NAN, NAN, NAN),)),
    ("math/quatToAxisAngle", ((0.0, S, 0.0, S),), ((0.0, 1.0, 0.0), math.pi / 2)),
    ("math/quatToAxisAngle", ((0.0, 0.0, 0.0, -1.0),), ((1.0, 0.0, 0.0), 0.0)),
    ("math/quatToAxisAngle", ((0.0, 1.0, 0.0, 0.0),), ((0.0, 1.0, 0.0), math.pi)),
    ("math/quatFromDirections", ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), ((0.0, 0.0, S, S),)),
    ("math/quatFromDirections", ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)), ((0.0, 0.0, 0.0, 1.0),)),
    ("math/quatFromUpForward", ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), ((0.0, 0.0, 0.0, 1.0),)),
    ("math/quatFromUpForward", ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0)), ((0.0, S, 0.0, S),)),
    ("math/quatSlerp", ((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.0), 0.5), ((0.0, 0.0, S, S),)),
    ("math/quatFromAngles", (math.pi, 0.0, 0.0), ((1.0, 0.0, 0.0, 0.0),)),
    ("math/determinant", (Typed("float2x2", [1.0, 2.0, 3.0, 4.0]),), (-2.0,)),
]


def close(got: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return len(got) == len(expected) and all(map(close, got, expected))
    if isinstance(expected, (bool, int)):
        return type(got) is type(expected) and got == expected
    if math.isnan(expected):
        return math.isnan(got)
    if expected == 0.0 and got == 0.0:
        return math.copysign(1.0, got) == math.copysign(1.0, expected)
    return isinstance(got, float) and math.isclose(got, expected, rel_tol=1e-14, abs_tol=1e-15)


def given(operation: str, values: tuple[Any, ...]) -> dict[str, Any]:
    sockets = OPERATIONS["", operation].variants[0].sockets.inputs
    return dict(zip(sockets, values, strict=True))


def shown(case: Any) -> str:
    return str(case) if isinstance(case, str) else repr(case)[:40]


@pytest.mark.parametrize(("operation", "values", "expected"), FLOATS, ids=shown)
def test_numbers_come_out_as_the_text_says(
    operation: str, values: tuple[Any, ...], expected: Any
) -> None:
    assert close(outputs(operation, given(operation, values))["value"], expected)


@pytest.mark.parametrize(("operation", "values", "expected"), VECTORS, ids=shown)
def test_vectors_come_out_as_the_text_says(
    operation: str, values: tuple[Any, ...], expected: tuple[Any, ...]
) -> None:
    got = tuple(outputs(operation, given(operation, values)).values())
    for one, wanted in zip(got, expected, strict=True):
        pairs = zip(one, wanted, strict=True) if isinstance(wanted, tuple) else [(one, wanted)]
        for a, b in pairs:
            if isinstance(b, bool):
                assert a is b
            else:
                assert (math.isnan(a) and math.isnan(b)) or math.isclose(
                    a, b, rel_tol=1e-12, abs_tol=1e-12
                )


def matrix(n: int) -> Typed:
    return Typed(
        f"float{n}x{n}", [float((k * k + 3 * k) % 7 + (k % (n + 1) == 0)) for k in range(n * n)]
    )


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_matrix_times_its_inverse_is_the_identity_and_columns_come_first(n: int) -> None:
    m = matrix(n)
    inverse = outputs("math/inverse", {"a": m})
    assert inverse["isValid"]
    product = outputs("math/matMul", {"a": m, "b": Typed(m.kind, list(inverse["value"]))})["value"]
    assert product == pytest.approx([float(k % (n + 1) == 0) for k in range(n * n)], abs=1e-12)
    vector = tuple(float(k + 1) for k in range(n))
    got = outputs("math/transform", {"a": vector, "b": m})["value"]
    assert got == pytest.approx(
        [sum(m.value[row + n * column] * vector[column] for column in range(n)) for row in range(n)]
    )
    turned = outputs("math/transpose", {"a": m})["value"]
    assert turned == tuple(m.value[row + n * column] for row in range(n) for column in range(n))
    singular = outputs("math/inverse", {"a": Typed(m.kind, [1.0] * (n * n))})
    assert singular == {"value": (0.0,) * (n * n), "isValid": False}


@pytest.mark.parametrize("n", [2, 3, 4])
def test_combining_and_extracting_go_column_by_column(n: int) -> None:
    letters = "abcdefghijklmnop"[: n * n]
    numbers = [float(k) for k in range(n * n)]
    suffix = f"{n}x{n}"
    made = outputs(f"math/combine{suffix}", dict(zip(letters, numbers, strict=True)))["value"]
    assert made == tuple(numbers)  # b is the second row of the first column
    parts = outputs(f"math/extract{suffix}", {"a": Typed(f"float{suffix}", numbers)})
    assert parts == {str(k): float(k) for k in range(n * n)}


@pytest.mark.parametrize("n", [2, 3, 4])
def test_vectors_are_combined_and_extracted(n: int) -> None:
    numbers = tuple(float(k + 1) for k in range(n))
    made = outputs(f"math/combine{n}", dict(zip("abcd"[:n], numbers, strict=True)))
    assert made["value"] == numbers
    assert tuple(outputs(f"math/extract{n}", {"a": numbers}).values()) == numbers


@pytest.mark.parametrize("scale", [(1.0, 2.0, 3.0), (-1.0, 2.0, 3.0), (1.0, 2.0, -0.5)])
@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.6, 0.0, 0.8)])
@pytest.mark.parametrize("angle", [0.0, 1.0, math.pi, -3.0])
def test_a_decomposed_matrix_composes_again(
    scale: tuple[float, ...], axis: tuple[float, ...], angle: float
) -> None:
    rotation = outputs("math/quatFromAxisAngle", {"axis": axis, "angle": angle})["value"]
    place = {"translation": (1.0, -2.0, 3.0), "rotation": rotation, "scale": scale}
    whole = outputs("math/matCompose", place)["value"]
    parts = outputs("math/matDecompose", {"a": Typed("float4x4", list(whole))})
    assert outputs("math/matCompose", parts)["value"] == pytest.approx(whole, abs=1e-12)


def test_a_matrix_without_size_has_no_rotation() -> None:
    flat = Typed("float4x4", [0.0] * 4 + [0.0, 2.0, 0.0, 0.0] + [0.0, 0.0, 3.0, 0.0, 1, 2, 3, 1])
    parts = outputs("math/matDecompose", {"a": flat})
    assert parts["rotation"] == (0.0, 0.0, 0.0, 1.0)
    assert parts["scale"] == (0.0, 2.0, 3.0)


@pytest.mark.parametrize("order", ["xyz", "xzy", "yxz", "yzx", "zxy", "zyx"])
def test_three_angles_turn_intrinsically(order: str) -> None:
    angles = {"x": 0.3, "y": -1.1, "z": 2.0}
    whole = (0.0, 0.0, 0.0, 1.0)
    axes = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
    for name in order:
        part = outputs("math/quatFromAxisAngle", {"axis": axes[name], "angle": angles[name]})
        whole = outputs("math/quatMul", {"a": whole, "b": part["value"]})["value"]
    assert outputs("math/quatFromAngles", angles, order=order)["value"] == pytest.approx(whole)


def test_opposite_directions_turn_about_a_perpendicular_axis() -> None:
    for a in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.6, -0.8, 0.0)):
        b = tuple(-x for x in a)
        q = outputs("math/quatFromDirections", {"a": a, "b": b})["value"]
        assert math.hypot(*q) == pytest.approx(1.0)
        assert outputs("math/rotate3D", {"a": a, "rotation": q})["value"] == pytest.approx(b)
        half = outputs("math/slerp", {"a": a, "b": b, "c": 0.5})["value"]
        assert sum(x * y for x, y in zip(a, half, strict=True)) == pytest.approx(0.0, abs=1e-12)


def test_colours_go_there_and_back() -> None:
    white = outputs("math/rgbToOkLCh", {"r": 1.0, "g": 1.0, "b": 1.0})
    assert white["l"] == pytest.approx(1.0, abs=1e-6)
    assert white["c"] == pytest.approx(0.0, abs=1e-6)
    color = {"r": 0.2, "g": 0.7, "b": -0.1}
    there = outputs("math/rgbToOkLCh", color)
    assert outputs("math/rgbFromOkLCh", there) == pytest.approx(color, abs=1e-5)


def test_selections() -> None:
    assert outputs("math/select", {"condition": True, "a": 1, "b": 2})["value"] == 1
    assert outputs("math/select", {"condition": False, "a": (1.0, 2.0), "b": (3.0, 4.0)})[
        "value"
    ] == (3.0, 4.0)
    values = {"selection": -1, "default": 5, "-1": 7, "2": 8}
    assert outputs("math/switch", values, cases=[-1, 2])["value"] == 7
    assert outputs("math/switch", {**values, "selection": 9}, cases=[-1, 2])["value"] == 5
    # 0.5 is no integer: the default configuration, without cases.
    assert outputs("math/switch", values, cases=[0.5, -1])["value"] == 5


def test_every_pure_operation_of_the_text_is_in_these_tables() -> None:
    elsewhere = {
        "math/random", "math/select", "math/switch", "math/transform", "math/transpose",
        "math/inverse", "math/matMul", "math/matCompose", "math/matDecompose", "math/rgbToOkLCh",
        "math/rgbFromOkLCh", "variable/get", "pointer/get",
        *(f"math/{way}{n}" for way in ("combine", "extract")
          for n in ("2", "3", "4", "2x2", "3x3", "4x4")),
    }  # fmt: skip
    tabled = {case[0] for case in (*FLOATS, *VECTORS)} | elsewhere
    pure = {name for (_, name), operation in OPERATIONS.items() if operation.is_value}
    assert pure == tabled
