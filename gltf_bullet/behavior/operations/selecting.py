"""Values by condition, by case, by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gltf_bullet.behavior.operations.declaring import NodeMaking, NodeReading, Sockets, declare


def _select_sockets(node: NodeReading) -> Sockets | str:
    kind = node.inputs.get("a")
    if kind is None:
        return "a: connected or given a value"
    return Sockets({"condition": "bool", "a": kind, "b": kind}, {"value": kind})


def _select(node: NodeMaking, _: str) -> Callable[[], Any]:
    condition, first, second = node.input("condition"), node.input("a"), node.input("b")
    return lambda: first() if condition() else second()


def _switch_sockets(node: NodeReading) -> Sockets | str:
    kind = node.inputs.get("default")
    if kind is None:
        return "default: connected or given a value"
    cases = {str(case): kind for case in node.configuration["cases"]}
    return Sockets({"selection": "int", "default": kind, **cases}, {"value": kind})


def _select_case(node: NodeMaking, _: str) -> Callable[[], Any]:
    selection, default = node.input("selection"), node.input("default")
    cases = {case: node.input(str(case)) for case in node.configuration["cases"]}
    return lambda: cases.get(selection(), default)()


def _random(node: NodeMaking, _: str) -> Callable[[], float]:
    draw: Callable[[], float] = node.remembered(node.behavior.draw)
    return draw


declare(
    "math/select", "a where the condition is true, else b",
    find_sockets=_select_sockets, make_output=_select,
)  # fmt: skip
declare(
    "math/switch", "the input whose name is the selection",
    configuration={"cases": "int[]"}, defaults={"cases": ()},
    find_sockets=_switch_sockets, make_output=_select_case,
)  # fmt: skip
declare(
    "math/random", "a number of [0, 1), another one at each activation",
    ("-> float value", None), make_output=_random,
)  # fmt: skip


def _angle_order(_: NodeReading, configuration: dict[str, Any]) -> str:
    is_known = configuration["order"] in ("xyz", "xzy", "yxz", "yzx", "zxy", "zyx")
    return "" if is_known else "order: an order of x, y and z"


def _angles(node: NodeMaking, _: str) -> Callable[[], Any]:
    from gltf_bullet.behavior.operations.vectors import from_angles

    turned = from_angles(node.configuration["order"])
    x, y, z = node.input("x"), node.input("y"), node.input("z")
    return lambda: turned(x(), y(), z())


declare(
    "math/quatFromAngles", "rotation of three angles",
    ("float x, float y, float z -> float4 value", None),
    configuration={"order": "string"}, defaults={"order": "yxz"}, check=_angle_order,
    make_output=_angles,
)  # fmt: skip
