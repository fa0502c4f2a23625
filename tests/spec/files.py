"""Files of a few lines, and scenes of them in a world of their own. glTF axes, +Y up."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pybullet

import gltf_bullet as gb

__all__ = [
    "KHR",
    "REVISIONS",
    "G",
    "Json",
    "Khr",
    "codes",
    "file",
    "loaded",
    "node",
    "slowing",
    "world_of",
]

Json = dict[str, Any]
G = 9.81


def node(extensions: Json | None = None, **values: Any) -> Json:
    """A node with extensions."""
    return {**values, **({"extensions": extensions} if extensions else {})}


def file(nodes: Sequence[Json], tables: Json | None = None, **root: Any) -> bytes:
    """A file of one scene; ``tables`` are the extensions of the root."""
    tables = tables or {}
    below = {child for each in nodes for child in each.get("children", ())}
    names = {name for each in nodes for name in each.get("extensions", {})}
    for animation in root.get("animations", ()):
        for channel in animation["channels"]:
            names |= channel["target"].get("extensions", {}).keys()
    document: Json = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [index for index in range(len(nodes)) if index not in below]}],
        "nodes": list(nodes),
        **({"extensions": tables} if tables else {}),
        **root,
    }
    used = sorted(names | tables.keys() | set(root.get("extensionsUsed", ())))
    if used:
        document["extensionsUsed"] = used
    return json.dumps(document).encode()


@contextmanager
def world_of(*, gravity: float = -G, rate: float = 240.0) -> Iterator[int]:
    """A world of its own, with gravity along Y [m/s^2] and a rate [Hz]."""
    client_id = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setGravity(0.0, gravity, 0.0, physicsClientId=client_id)
        pybullet.setTimeStep(1.0 / rate, physicsClientId=client_id)
        yield client_id
    finally:
        pybullet.disconnect(client_id)


@contextmanager
def loaded(
    content: bytes, *, gravity: float = -G, rate: float = 240.0, **options: Any
) -> Iterator[gb.Scene]:
    """A file in a world of its own."""
    with world_of(gravity=gravity, rate=rate) as client_id:
        chosen = gb.LoadOptions(**options)
        yield gb.load_gltf(content, client_id, up_axis="y", options=chosen)


def codes(content: bytes) -> set[str]:
    """The codes of what is found in a file; that some of these hold no physics is meant."""
    return {issue.code for issue in gb.check(content).issues} - {"NO_PHYSICS"}


def slowing(scene: gb.Scene, body: int, *, steps: int = 60) -> float:
    """The friction coefficient that slows a sliding body: lost speed over g t."""
    scene.step(12)
    before = float(np.linalg.norm(scene.bodies[body].linear_velocity))
    scene.step(steps)
    after = float(np.linalg.norm(scene.bodies[body].linear_velocity))
    time = steps * pybullet.getPhysicsEngineParameters(scene.client_id)["fixedTimeStep"]
    return (before - after) / (G * time) if math.isfinite(after) else math.nan


KHR = "KHR_physics_rigid_bodies"
REVISIONS = {
    "000": ("KHR_collision_shapes", lambda shape: {"shape": shape}),
    "001": ("KHR_implicit_shapes", lambda shape: {"geometry": {"shape": shape}}),
}
"""Shape extension, and how a collider or trigger names a shape, by the number of the text."""


class Khr:
    """Writes scenes of KHR_physics_rigid_bodies in the words of one of its two texts."""

    def __init__(self, revision: str) -> None:
        self._shapes, self._names = REVISIONS[revision]
        self._table: list[Json] = []

    def box(self, x: float, y: float, z: float) -> Json:
        """What names a box."""
        return self.shape("box", size=[x, y, z])

    def ball(self, radius: float) -> Json:
        """What names a sphere."""
        return self.shape("sphere", radius=radius)

    def shape(self, kind: str, **values: Any) -> Json:
        """What names a shape."""
        entry = {"type": kind, kind: values}
        if entry not in self._table:
            self._table.append(entry)
        named: Json = self._names(self._table.index(entry))
        return named

    def file(self, nodes: Sequence[Json], **tables: Any) -> bytes:
        """A file; ``tables`` are those of KHR_physics_rigid_bodies."""
        shapes = {self._shapes: {"shapes": self._table}} if self._table else {}
        return file(nodes, {**shapes, **({KHR: tables} if tables else {})})
