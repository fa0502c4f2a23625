"""Nodes with KHR_physics_rigid_bodies, in few words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gltf_bullet.model import PhysicsScene

Read = Callable[..., PhysicsScene]
Json = dict[str, Any]

KHR = "KHR_physics_rigid_bodies"
SHAPES = {"KHR_implicit_shapes": {"shapes": [{"type": "box"}]}}
BOX = {"geometry": {"shape": 0}}
NODE = f"/nodes/0/extensions/{KHR}"
LIMIT_AT = f"/extensions/{KHR}/physicsJoints/0/limits/0"
DRIVE = {"type": "linear", "mode": "force", "axis": 2}
DRIVE_AT = f"/extensions/{KHR}/physicsJoints/0/drives/0"


def on_node(*, children: list[int] | None = None, **properties: Any) -> Json:
    node: Json = {"extensions": {KHR: properties}}
    return node | ({"children": children} if children else {})


def root(**tables: Any) -> Json:
    return {**SHAPES, KHR: tables}
