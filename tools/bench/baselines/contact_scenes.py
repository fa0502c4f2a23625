"""Scenes of the contact benchmark as glTF bytes, +Y up: simple enough for a formula."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gltf_bullet.transforms import FloatArray

__all__ = ["ContactScene", "bumps", "flat_grid"]

_BODIES = "KHR_physics_rigid_bodies"
_SHAPES = "KHR_implicit_shapes"


class ContactScene:
    """Collects bodies and ground."""

    def __init__(self) -> None:
        self._nodes: list[dict[str, Any]] = []
        self._shapes: list[dict[str, Any]] = []
        self._materials: list[dict[str, Any]] = []
        self._meshes: list[dict[str, Any]] = []
        self._accessors: list[dict[str, Any]] = []
        self._views: list[dict[str, Any]] = []
        self._data = b""

    def material(self, friction: float, restitution: float = 0.0) -> int:
        """Both frictions alike, combined by multiplication [1]."""
        self._materials.append(
            {
                "staticFriction": friction,
                "dynamicFriction": friction,
                "restitution": restitution,
                "frictionCombine": "multiply",
                "restitutionCombine": "maximum",
            }
        )
        return len(self._materials) - 1

    def shape(self, kind: str, **values: Any) -> dict[str, Any]:
        """A geometry of an implicit shape."""
        self._shapes.append({"type": kind, kind: values})
        return {"shape": len(self._shapes) - 1}

    def mesh(
        self, points: FloatArray, triangles: Sequence[Sequence[int]], *, hull: bool = False
    ) -> dict[str, Any]:
        """A geometry of a mesh."""
        position = self._accessor(np.asarray(points, np.float32), 5126, "VEC3")
        index = self._accessor(np.asarray(triangles, np.uint32).reshape(-1), 5125, "SCALAR")
        self._meshes.append(
            {"primitives": [{"attributes": {"POSITION": position}, "indices": index}]}
        )
        return {"mesh": len(self._meshes) - 1, "convexHull": hull}

    def node(
        self,
        geometry: dict[str, Any],
        *,
        at: Sequence[float] = (0.0, 0.0, 0.0),
        turned: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        material: int | None = None,
        motion: dict[str, Any] | None = None,
        is_ghost: bool = False,
    ) -> int:
        """A collider, on a body of its own with ``motion``; returns its node.

        Ghosts do not meet each other.
        """
        collider: dict[str, Any] = {"geometry": geometry}
        if is_ghost:
            collider["collisionFilter"] = 0
        if material is not None:
            collider["physicsMaterial"] = material
        physics: dict[str, Any] = {"collider": collider}
        if motion is not None:
            physics["motion"] = motion
        self._nodes.append(
            {
                "translation": [float(x) for x in at],
                "rotation": [float(x) for x in turned],
                "extensions": {_BODIES: physics},
            }
        )
        return len(self._nodes) - 1

    def bytes(self) -> bytes:
        """The file."""
        root: dict[str, Any] = {
            "asset": {"version": "2.0"},
            "extensionsUsed": [_BODIES],
            "extensions": {_BODIES: {}},
            "nodes": self._nodes,
            "scenes": [{"nodes": list(range(len(self._nodes)))}],
        }
        ghosts = {"collisionSystems": ["ghosts"], "notCollideWithSystems": ["ghosts"]}
        root["extensions"][_BODIES]["collisionFilters"] = [ghosts]
        if self._materials:
            root["extensions"][_BODIES]["physicsMaterials"] = self._materials
        if self._shapes:
            root["extensionsUsed"].append(_SHAPES)
            root["extensions"][_SHAPES] = {"shapes": self._shapes}
        if self._meshes:
            uri = "data:application/octet-stream;base64," + base64.b64encode(self._data).decode()
            root |= {
                "meshes": self._meshes,
                "accessors": self._accessors,
                "bufferViews": self._views,
                "buffers": [{"byteLength": len(self._data), "uri": uri}],
            }
        return json.dumps(root).encode()

    def _accessor(self, values: Any, component: int, kind: str) -> int:
        data = values.tobytes()
        view = {"buffer": 0, "byteOffset": len(self._data), "byteLength": len(data)}
        self._views.append(view)
        self._data += data
        entry = {
            "bufferView": len(self._views) - 1,
            "componentType": component,
            "count": len(values),
            "type": kind,
        }
        if kind == "VEC3":
            entry |= {"min": values.min(axis=0).tolist(), "max": values.max(axis=0).tolist()}
        self._accessors.append(entry)
        return len(self._accessors) - 1


def flat_grid(cells: int, half: float) -> tuple[FloatArray, list[tuple[int, int, int]]]:
    """A square of ``cells`` x ``cells`` x 2 triangles in the XZ plane, 2 ``half`` [m] wide."""
    ticks = np.linspace(-half, half, cells + 1)
    points = np.array([(x, 0.0, z) for x in ticks for z in ticks])
    triangles = []
    for i in range(cells):
        for j in range(cells):
            a = i * (cells + 1) + j
            b, c, d = a + 1, a + cells + 1, a + cells + 2
            triangles += [(a, b, d), (a, d, c)]
    return points, triangles


def bumps(cells: int, half: float, height: float) -> tuple[FloatArray, list[tuple[int, int, int]]]:
    """:func:`flat_grid` with waves of ``height`` [m]."""
    points, triangles = flat_grid(cells, half)
    phase = 2.0 * math.pi / half
    points[:, 1] = height * np.sin(2.0 * phase * points[:, 0]) * np.cos(2.0 * phase * points[:, 2])
    return points, triangles
