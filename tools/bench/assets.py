"""glTF files for the benchmark, made on the fly."""

from __future__ import annotations

import base64
import json
import random
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gltf_bullet
from gltf_bullet.transforms import Vec3

__all__ = [
    "ASSETS",
    "bodies_gltf",
    "cart_pole_gltf",
    "grid",
    "lift_gltf",
    "mesh_scene_gltf",
    "pile",
    "without_static_parts",
]

ASSETS = Path(gltf_bullet.__file__).parents[1] / "examples" / "assets"
"""Of a checkout; they are no part of the package."""

_BODIES = "KHR_physics_rigid_bodies"
_SHAPES = "KHR_implicit_shapes"
_SHAPE = {
    "box": {"type": "box", "box": {"size": [0.2, 0.2, 0.2]}},
    "sphere": {"type": "sphere", "sphere": {"radius": 0.1}},
}


def grid(count: int, height: float, spacing: float = 0.5) -> list[Vec3]:
    """Positions in a square, glTF axes [m]."""
    side = round(count**0.5 + 0.5)
    return [(spacing * (k % side), height, spacing * (k // side)) for k in range(count)]


def pile(count: int) -> list[Vec3]:
    """Positions of a loose heap, layer upon layer, glTF axes [m]; the same at every call."""
    spread = random.Random(7)  # noqa: S311  # a fixed heap, not a secret
    result = []
    for k in range(count):
        layer, place = divmod(k, 25)
        result.append(
            (
                0.24 * (place % 5) + 0.05 * spread.random(),
                0.15 + 0.25 * layer,
                0.24 * (place // 5) + 0.05 * spread.random(),
            )
        )
    return result


def bodies_gltf(shape: str, positions: Sequence[Vec3], *, floor: bool = False) -> bytes:
    """Bodies of 1 kg: a node with motion and a child node with the collider each."""
    nodes: list[dict[str, Any]] = []
    roots: list[int] = []
    shapes = [_SHAPE[shape]]
    if floor:
        shapes.append({"type": "plane"})
        roots.append(0)
        nodes.append({"name": "Floor", "extensions": _collider(1)})
    for number, position in enumerate(positions):
        body = len(nodes)
        roots.append(body)
        nodes.append(
            {
                "name": f"Body{number}",
                "translation": list(position),
                "children": [body + 1],
                "extensions": {_BODIES: {"motion": {"mass": 1.0}}},
            }
        )
        nodes.append({"name": f"Collider{number}", "extensions": _collider(0)})
    return _file(nodes, roots, shapes)


def mesh_scene_gltf(count: int) -> bytes:
    """``count`` bodies with a hull of a small mesh, over a floor of triangles."""
    points = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    points.append((0.0, 0.2, 0.0))
    floor = [(-20.0, 0.0, -20.0), (-20.0, 0.0, 20.0), (20.0, 0.0, -20.0), (20.0, 0.0, 20.0)]
    data = b"".join(struct.pack("<3f", *p) for p in (*points, *floor))
    data += struct.pack("<6H", 0, 1, 2, 1, 3, 2)
    views = [
        {"buffer": 0, "byteOffset": 0, "byteLength": 12 * len(points)},
        {"buffer": 0, "byteOffset": 12 * len(points), "byteLength": 48},
        {"buffer": 0, "byteOffset": 12 * (len(points) + 4), "byteLength": 12},
    ]
    accessors = [
        {"bufferView": 0, "componentType": 5126, "count": len(points), "type": "VEC3"},
        {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC3"},
        {"bufferView": 2, "componentType": 5123, "count": 6, "type": "SCALAR"},
    ]
    meshes = [
        {"primitives": [{"attributes": {"POSITION": 0}}]},
        {"primitives": [{"attributes": {"POSITION": 1}, "indices": 2}]},
    ]
    nodes: list[dict[str, Any]] = [
        {"name": "Floor", "extensions": {_BODIES: {"collider": {"geometry": {"mesh": 1}}}}}
    ]
    hull = {"mesh": 0, "convexHull": True}
    body = {_BODIES: {"motion": {"mass": 1.0}, "collider": {"geometry": hull}}}
    nodes += [{"translation": list(p), "extensions": body} for p in grid(count, 1.0)]
    uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    return _file(
        nodes, list(range(len(nodes))), [], meshes=meshes, accessors=accessors, bufferViews=views,
        buffers=[{"byteLength": len(data), "uri": uri}],
    )  # fmt: skip


def lift_gltf(count: int) -> bytes:
    """A platform of 20 kg, held up by a drive alone, with rows of 20 boxes of 1 kg on it."""
    rows = -(-count // 20)
    depth = 0.25 * rows + 0.2
    lift = {"motion": {"mass": 20.0}, **_collider(0)[_BODIES]}
    nodes: list[dict[str, Any]] = [
        {"name": "Post", "translation": [0, 1, 0]},
        {
            "name": "Lift",
            "translation": [0, 1, 0],
            "children": [2],
            "extensions": {_BODIES: lift},
        },
        {"name": "Slide", "extensions": {_BODIES: {"joint": {"connectedNode": 0, "joint": 0}}}},
    ]
    box = {_BODIES: {"motion": {"mass": 1.0}, **_collider(1)[_BODIES]}}
    for k in range(count):
        row, column = divmod(k, 20)
        place = [0.25 * column - 2.375, 1.15, 0.25 * (row - 0.5 * (rows - 1))]
        nodes.append({"name": f"Box{k}", "translation": place, "extensions": box})
    limits = [{"linearAxes": [0, 2], "min": 0, "max": 0}]
    limits.append({"angularAxes": [0, 1, 2], "min": 0, "max": 0})
    drive = {"type": "linear", "mode": "force", "axis": 1, "stiffness": 1e6, "damping": 1e4}
    targets = {"positionTarget": 0.0, "velocityTarget": 0.0}
    joint = {"limits": limits, "drives": [drive | targets]}
    sizes = ([5.2, 0.1, depth], [0.2, 0.2, 0.2])
    shapes = [{"type": "box", "box": {"size": size}} for size in sizes]
    return _file(
        nodes, [0, 1, *range(3, len(nodes))], [],
        extensions={_SHAPES: {"shapes": shapes}, _BODIES: {"physicsJoints": [joint]}},
    )  # fmt: skip


def _collider(shape: int) -> dict[str, Any]:
    return {_BODIES: {"collider": {"geometry": {"shape": shape}}}}


def _file(
    nodes: list[dict[str, Any]], roots: list[int], shapes: list[dict[str, Any]], **members: Any
) -> bytes:
    root = {
        "asset": {"version": "2.0"},
        "extensionsUsed": [_BODIES, _SHAPES],
        "scene": 0,
        "scenes": [{"nodes": roots}],
        "nodes": nodes,
        **({"extensions": {_SHAPES: {"shapes": shapes}}} if shapes else {}),
        **members,
    }
    return json.dumps(root).encode()


def cart_pole_gltf() -> bytes:
    """A cart of 1 kg on a slide, driven with at most 10 N, with a pole of 0.1 kg and 1 m."""
    free = [("linear", [0, 1, 2]), ("angular", [0, 1, 2])]
    slide, hinge = (
        [
            {f"{kind}Axes": [axis for axis in axes if (kind, axis) != left], "min": 0, "max": 0}
            for kind, axes in free
        ]
        for left in (("linear", 0), ("angular", 2))
    )
    drive = {"type": "linear", "mode": "force", "axis": 0, "damping": 0.1, "maxForce": 10}

    def body(name: str, height: float, mass: float, shape: int, child: int) -> dict[str, Any]:
        extension = {"motion": {"mass": mass}, **_collider(shape)[_BODIES]}
        return {
            "name": name,
            "translation": [0, height, 0],
            "children": [child],
            "extensions": {_BODIES: extension},
        }

    def joint(name: str, height: float, connected: int, index: int) -> dict[str, Any]:
        return {
            "name": name,
            "translation": [0, height, 0],
            "extensions": {_BODIES: {"joint": {"connectedNode": connected, "joint": index}}},
        }

    nodes = [
        joint("Slide", 0.62, 1, 0),
        body("Cart", 0.62, 1.0, 0, 2),
        joint("Hinge", 0.1, 4, 1),
        body("Pole", 1.22, 0.1, 1, 4),
        {"name": "Foot", "translation": [0, -0.5, 0]},
    ]
    boxes = ([0.5, 0.2, 0.3], [0.06, 1, 0.06])
    root = {
        "asset": {"version": "2.0"},
        "extensionsUsed": [_BODIES, _SHAPES],
        "extensions": {
            _SHAPES: {"shapes": [{"type": "box", "box": {"size": size}} for size in boxes]},
            _BODIES: {"physicsJoints": [{"limits": slide, "drives": [drive]}, {"limits": hinge}]},
        },
        "scenes": [{"nodes": [0, 1, 3]}],
        "scene": 0,
        "nodes": nodes,
    }
    return json.dumps(root).encode()


def without_static_parts(name: str) -> bytes:
    """An example whose colliders without motion are gone, and its animations."""
    asset = json.loads((ASSETS / f"{name}.gltf").read_text())
    nodes = asset["nodes"]

    def strip(node: int, below_motion: bool) -> None:
        physics = nodes[node].get("extensions", {}).get(_BODIES, {})
        moves = below_motion or "motion" in physics
        if not moves:
            physics.pop("collider", None)
        for child in nodes[node].get("children", []):
            strip(child, moves)

    for root in asset["scenes"][asset.get("scene", 0)]["nodes"]:
        strip(root, below_motion=False)
    asset.pop("animations", None)
    return json.dumps(asset).encode()
