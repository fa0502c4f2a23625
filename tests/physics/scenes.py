"""Small physics scenes as glTF bytes, for tests against formulas. glTF axes, +Y up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pybullet

import gltf_bullet as gb

KHR = "KHR_physics_rigid_bodies"
SHAPES = "KHR_implicit_shapes"
G = 9.81


class Scenery:
    """Collects nodes, shapes, materials, filters and joints of one KHR scene."""

    def __init__(self) -> None:
        self._nodes: list[dict[str, object]] = []
        self._tables: dict[str, list[dict[str, object]]] = {}
        self._shapes: list[dict[str, object]] = []

    def shape(self, kind: str, **values: object) -> int:
        self._shapes.append({"type": kind, kind: values})
        return len(self._shapes) - 1

    def entry(self, table: str, **values: object) -> int:
        rows = self._tables.setdefault(table, [])
        rows.append(values)
        return len(rows) - 1

    def material(self, **values: object) -> int:
        return self.entry("physicsMaterials", **values)

    def node(
        self,
        name: str,
        *,
        at: Sequence[float] = (0.0, 0.0, 0.0),
        rotation: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        children: Sequence[int] = (),
        shape: int | None = None,
        material: int | None = None,
        collision_filter: int | None = None,
        motion: dict[str, object] | None = None,
        **extension: object,
    ) -> int:
        physics: dict[str, object] = dict(extension)
        if motion is not None:
            physics["motion"] = motion
        if shape is not None:
            collider: dict[str, object] = {"geometry": {"shape": shape}}
            if material is not None:
                collider["physicsMaterial"] = material
            if collision_filter is not None:
                collider["collisionFilter"] = collision_filter
            physics["collider"] = collider
        node: dict[str, object] = {"name": name, "translation": list(at)}
        if rotation is not None:
            node["rotation"] = list(rotation)
        if scale is not None:
            node["scale"] = list(scale)
        if children:
            node["children"] = list(children)
        if physics:
            node["extensions"] = {KHR: physics}
        self._nodes.append(node)
        return len(self._nodes) - 1

    def bytes(self) -> bytes:
        below = {child for node in self._nodes for child in node.get("children", ())}  # type: ignore[attr-defined]
        root = {
            "asset": {"version": "2.0"},
            "extensionsUsed": [KHR, SHAPES],
            "extensions": {KHR: self._tables, SHAPES: {"shapes": self._shapes}},
            "nodes": self._nodes,
            "scenes": [{"nodes": [k for k in range(len(self._nodes)) if k not in below]}],
        }
        if not self._shapes:
            del root["extensions"][SHAPES]  # type: ignore[attr-defined]
        return json.dumps(root).encode()


class Jointed(Scenery):
    """Bodies with attachment nodes and joints between them."""

    def attachment(
        self, body: int, at: Sequence[float], rotation: Sequence[float] | None = None
    ) -> int:
        node = self.node(f"At{len(self._nodes)}", at=at, rotation=rotation)
        self._nodes[body].setdefault("children", []).append(node)  # type: ignore[attr-defined]
        return node

    def join(
        self, node: int, connected: int, *, enable_collision: bool = False, **joint: object
    ) -> None:
        index = self.entry("physicsJoints", **joint)
        physics = {"joint": {"connectedNode": connected, "joint": index}}
        if enable_collision:
            physics["joint"]["enableCollision"] = True
        self._nodes[node]["extensions"] = {KHR: physics}


def bodies_in(client: int) -> list[int]:
    """The ids of all bodies of a world."""
    count = pybullet.getNumBodies(physicsClientId=client)
    return [pybullet.getBodyUniqueId(k, physicsClientId=client) for k in range(count)]


@contextmanager
def world(
    source: bytes | str,
    *,
    rate: float = 240.0,
    gravity: float = G,
    up_axis: str = "y",
    options: gb.LoadOptions | None = None,
    **placement: object,
) -> Iterator[gb.Scene]:
    """The scene alone in a world of its own."""
    client = pybullet.connect(pybullet.DIRECT)
    try:
        down = (0.0, -gravity, 0.0) if up_axis == "y" else (0.0, 0.0, -gravity)
        pybullet.setGravity(*down, physicsClientId=client)
        pybullet.setTimeStep(1.0 / rate, physicsClientId=client)
        yield gb.load_gltf(source, client, up_axis=up_axis, options=options, **placement)
    finally:
        pybullet.disconnect(client)
