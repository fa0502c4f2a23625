"""The operations of KHR_physics_rigid_bodies: impulses, rays, triggers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gltf_bullet.behavior.operations.declaring import MadeNode, NodeMaking, NodeReading, declare
from gltf_bullet.behavior.values import Reference, as_index

Closures = Mapping[str, Callable[[], None]]

_PHYSICS = "KHR_physics_rigid_bodies"
_NONE = (0.0, 0.0, 0.0)
_CROSSED = ("colliderNodeIndex", "motionNodeIndex")
_NANS = (math.nan, math.nan, math.nan)


def _node_index(node: NodeMaking) -> Callable[[], int]:
    """The glTF node that an input names, by number or by reference; -1 if there is none."""
    source, count = node.input("nodeIndex"), node.behavior.node_count

    def find() -> int:
        value = source()
        if isinstance(value, Reference):
            value = value.number if value.collection == "/nodes" else -1
        return value if value is not None and 0 <= value < count else -1

    return find


def _is_finite(*vectors: tuple[float, ...]) -> bool:
    return all(math.isfinite(number) for vector in vectors for number in vector)


def _apply_impulse(node: NodeMaking) -> Closures:
    index, apply = _node_index(node), node.behavior.host.apply_impulse
    linear, angular = node.input("linearImpulse", _NONE), node.input("angularImpulse", _NONE)

    def enter() -> None:
        found, along, about = index(), linear(), angular()
        if found >= 0 and _is_finite(along, about):
            apply(found, along, about)

    return {"in": enter}


def _apply_point_impulse(node: NodeMaking) -> Closures:
    index, apply = _node_index(node), node.behavior.host.apply_point_impulse
    impulse, position = node.input("impulse"), node.input("position")

    def enter() -> None:
        found, strength, point = index(), impulse(), position()
        if found >= 0 and _is_finite(strength, point):
            apply(found, strength, point)

    return {"in": enter}


def _no_node(node: MadeNode, socket: str) -> int | None:
    """Value of an output for no node, by the type that the graph has declared."""
    return None if node.outputs.get(socket) == "ref" else -1


def _ray_cast(node: NodeMaking) -> Closures:
    start, end = node.input("rayStart"), node.input("rayEnd")
    chosen, cast = node.input("collisionFilterIndex", -1), node.behavior.host.ray_cast
    state, push, hit, miss = node.state, node.push, node.flow("hit"), node.flow("miss")
    is_reference = node.node.outputs.get("hitNodeIndex") == "ref"

    def enter() -> None:
        begin, stop, number = start(), end(), chosen()
        found = cast(begin, stop, number) if _is_finite(begin, stop) else None
        if found is None:
            state[:] = [None if is_reference else -1, math.nan, _NANS]
        else:
            name = Reference("/nodes", found.node) if is_reference else found.node
            state[:] = [name, found.fraction, found.normal]
        flow = miss if found is None else hit
        if flow is not None:
            push(flow)

    return {"in": enter}


def _is_trigger(node: NodeReading, configuration: dict[str, Any]) -> str:
    nodes = node.file.get("nodes")
    nodes = nodes if isinstance(nodes, list) else []
    index = as_index(configuration["nodeIndex"], len(nodes))
    owner = nodes[index] if index is not None else None
    for key in ("extensions", _PHYSICS, "trigger"):
        owner = owner.get(key) if isinstance(owner, Mapping) else None
    return "" if owner is not None else "nodeIndex: the index of a node with a trigger"


# The text of physics has indices; the ratified text of graphs has references instead.
_OPTIONAL = frozenset({"linearImpulse", "angularImpulse"})
declare(
    "rigid_body/applyImpulse", "an impulse on a body",
    ("int nodeIndex, float3 linearImpulse, float3 angularImpulse ->", None),
    ("ref nodeIndex, float3 linearImpulse, float3 angularImpulse ->", None),
    extension=_PHYSICS, optional=_OPTIONAL, flows_in=("in",), prepare=_apply_impulse,
)  # fmt: skip
declare(
    "rigid_body/applyPointImpulse", "an impulse on a body at a point",
    ("int nodeIndex, float3 impulse, float3 position ->", None),
    ("ref nodeIndex, float3 impulse, float3 position ->", None),
    extension=_PHYSICS, flows_in=("in",), prepare=_apply_point_impulse,
)  # fmt: skip
_RAY = "float3 rayStart, float3 rayEnd, int collisionFilterIndex"
declare(
    "rigid_body/rayCast", "the nearest collider on a segment",
    (f"{_RAY} -> int hitNodeIndex, float hitFraction, float3 hitNormal", None),
    (f"{_RAY} -> ref hitNodeIndex, float hitFraction, float3 hitNormal", None),
    extension=_PHYSICS, optional=frozenset({"collisionFilterIndex"}),
    flows_in=("in",), flows_out=("hit", "miss"), prepare=_ray_cast,
    slots=("hitNodeIndex", "hitFraction", "hitNormal"),
    state=lambda node: [_no_node(node, "hitNodeIndex"), math.nan, _NANS],
)  # fmt: skip
for _way in ("Entered", "Exited"):
    declare(
        f"event/rigid_body_trigger{_way}", f"when a collider has {_way.lower()} a trigger",
        ("-> int colliderNodeIndex, int motionNodeIndex", None),
        ("-> ref colliderNodeIndex, ref motionNodeIndex", None),
        extension=_PHYSICS, configuration={"nodeIndex": "int"}, check=_is_trigger,
        flows_out=("out",), prepare=lambda _: {},
        slots=_CROSSED, state=lambda node: [_no_node(node, socket) for socket in _CROSSED],
    )  # fmt: skip
