"""Scenes with triggers, in few words; y is up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pybullet

import gltf_bullet as gb

DT = 1.0 / 240.0
G = 9.81

BOX, BALL, SLAB, CAPSULE, CYLINDER, CONE, PLANE, SHEET, BIG = range(9)
HINGE = {
    "KHR_physics_rigid_bodies": {
        "physicsJoints": [
            {
                "limits": [
                    {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
                    {"angularAxes": [0, 1], "min": 0, "max": 0},
                ]
            }
        ]
    }
}
"""Extensions of a file with one joint description: free about Z."""

SHAPES = [
    {"type": "box", "box": {"size": [1, 1, 1]}},
    {"type": "sphere", "sphere": {"radius": 0.1}},
    {"type": "box", "box": {"size": [2, 0.002, 2]}},
    {"type": "capsule", "capsule": {"radiusBottom": 0.5, "radiusTop": 0.5, "height": 0.5}},
    {"type": "cylinder", "cylinder": {"radiusBottom": 0.5, "radiusTop": 0.5, "height": 1}},
    {"type": "cylinder", "cylinder": {"radiusBottom": 0.5, "radiusTop": 0, "height": 1}},
    {"type": "plane", "plane": {}},
    {"type": "plane", "plane": {"sizeX": 1, "sizeZ": 1}},
    {"type": "sphere", "sphere": {"radius": 0.5}},
]


def node(at: Any = (0, 0, 0), children: Any = (), name: str = "", **physics: Any) -> dict[str, Any]:
    result: dict[str, Any] = {"translation": [float(x) for x in at], "name": name}
    if children:
        result["children"] = list(children)
    if physics:
        result["extensions"] = {"KHR_physics_rigid_bodies": physics}
    return result


def solid(shape: int, **more: Any) -> dict[str, Any]:
    return {"geometry": {"shape": shape}, **more}


def ball(at: Any, velocity: Any = (0, 0, 0), **more: Any) -> dict[str, Any]:
    motion = {"mass": 1.0, "linearVelocity": list(velocity), "gravityFactor": 0.0}
    motion.update(more.pop("motion", {}))
    return node(at, motion=motion, collider=solid(BALL, **more))


def asset(*nodes: dict[str, Any], **extra: Any) -> bytes:
    below = {child for entry in nodes for child in entry.get("children", ())}
    document = {
        "asset": {"version": "2.0"},
        "extensionsUsed": ["KHR_physics_rigid_bodies", "KHR_implicit_shapes"],
        "extensions": {"KHR_implicit_shapes": {"shapes": SHAPES}},
        "scene": 0,
        "scenes": [{"nodes": [k for k in range(len(nodes)) if k not in below]}],
        "nodes": list(nodes),
    }
    document["extensions"].update(extra.pop("extensions", {}))  # type: ignore[attr-defined]
    document.update(extra)
    return json.dumps(document).encode()


@contextmanager
def y_up_world() -> Iterator[int]:
    """A client whose gravity points down glTF's y."""
    number = pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(0, -G, 0, physicsClientId=number)
    pybullet.setTimeStep(DT, physicsClientId=number)
    yield number
    pybullet.disconnect(number)


def load(client: int, *nodes: dict[str, Any], **extra: Any) -> gb.Scene:
    return gb.load_gltf(asset(*nodes, **extra), client, up_axis="y")


def told(events: Any) -> list[tuple[str, int, int, int]]:
    return [(e.kind, e.trigger_node, e.collider_node, e.motion_node) for e in events]
