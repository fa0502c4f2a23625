"""A :class:`WorldDescription` as a glTF file with its physics, checked before it is written."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from gltf_bullet.convert.description import MeshGeometry, Surface, WorldDescription
from gltf_bullet.convert.physics import place_world
from gltf_bullet.convert.primitives import shown_geometry
from gltf_bullet.convert.world_nodes import WorldNodes
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects.khr.scene import physics_to_khr
from gltf_bullet.gltf.writing import write_document
from gltf_bullet.model import PhysicsScene
from gltf_bullet.transforms import FloatArray, Vec3
from gltf_bullet.version import __version__

__all__ = ["WorldFile", "build_world"]

_BODIES = "KHR_physics_rigid_bodies"
_GRAVITY = "OMI_physics_gravity"
_NEAR = 0.01
"""[m] What cameras do not see; the specification asks for a number."""
_FLOAT, _UINT16, _UINT32 = 5126, 5123, 5125
_ARRAY_BUFFER, _ELEMENT_ARRAY_BUFFER = 34962, 34963


class WorldFile:
    """A glTF document in memory."""

    def __init__(self, root: dict[str, Any], data: bytes, nodes: WorldNodes) -> None:
        self.root = root
        self.data = data
        """The one buffer."""
        self.nodes = nodes

    @property
    def buffers(self) -> list[bytes | memoryview | None]:
        """As ``write_document`` takes them."""
        return [self.data] if self.data else []

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write ``.glb`` or ``.gltf``, whole or not at all; errors as of ``write_document``."""
        write_document(self.root, self.buffers, path)


def build_world(world: WorldDescription, diagnostics: Diagnostics) -> WorldFile:
    """Everything of ``world`` as one document; what glTF cannot say is reported."""
    placed = place_world(world, diagnostics)
    parts = _Parts()
    for shape in placed.collision_meshes:  # in the order of their indices
        parts.mesh(shape.geometry, None)
    nodes = placed.nodes.entries
    for node, visual in placed.visuals:
        nodes[node]["mesh"] = parts.mesh(shown_geometry(visual.shape), visual.surface)
    cameras = [
        {
            "name": frame.name,
            "type": "perspective",
            "perspective": {"yfov": frame.field_of_view, "znear": _NEAR},
        }
        for _, frame in placed.cameras
    ]
    for number, (node, _) in enumerate(placed.cameras):
        nodes[node]["camera"] = number
    scene = PhysicsScene(motions=placed.motions, colliders=placed.colliders, joints=placed.joints)
    extensions, of_node = physics_to_khr(scene, diagnostics)
    for node, extension in of_node.items():
        nodes[node]["extensions"] = {_BODIES: extension}
    if world.gravity is not None:
        extensions[_GRAVITY] = _gravity(world.gravity, world.up_axis)
    used = sorted({*extensions, *([_BODIES] if of_node else [])})
    root: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": f"gltf_bullet {__version__}"},
        "scene": 0,
        "scenes": [{"nodes": [placed.world_node]}],
        "nodes": nodes,
    }
    if used:
        root["extensionsUsed"] = used
    if extensions:
        root["extensions"] = extensions
    if cameras:
        root["cameras"] = cameras
    root |= parts.members()
    return WorldFile(root, bytes(parts.data), placed)


def _gravity(gravity: Vec3, up_axis: str) -> dict[str, Any]:
    """OMI_physics_gravity of a scene; ``gravity`` in the world [m/s^2]."""
    x, y, z = gravity
    strength = math.hypot(x, y, z)
    turned = (x, z, -y) if up_axis == "z" else (x, y, z)
    if strength == 0.0:
        return {"gravity": 0.0, "direction": [0.0, -1.0, 0.0]}
    return {"gravity": strength, "direction": [value / strength for value in turned]}


class _Parts:
    """Buffers, accessors, meshes, materials, textures: each content once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._views: list[dict[str, Any]] = []
        self._accessors: list[dict[str, Any]] = []
        self._meshes: list[dict[str, Any]] = []
        self._materials: list[dict[str, Any]] = []
        self._images: dict[bytes, int] = {}
        self._image_views: list[dict[str, Any]] = []
        self._primitive_of: dict[bytes, dict[str, Any]] = {}
        self._mesh_of: dict[tuple[bytes, Surface | None], int] = {}
        self._material_of: dict[Surface, int] = {}

    def members(self) -> dict[str, Any]:
        """The members of the root that are not empty."""
        textures = [{"source": k, "sampler": 0} for k in range(len(self._image_views))]
        found: dict[str, Any] = {
            "meshes": self._meshes,
            "materials": self._materials,
            "textures": textures,
            "images": self._image_views,
            "samplers": [{"wrapS": 10497, "wrapT": 10497}] if textures else [],
            "accessors": self._accessors,
            "bufferViews": self._views,
            "buffers": [{"byteLength": len(self.data)}] if self.data else [],
        }
        return {key: value for key, value in found.items() if value}

    def mesh(self, geometry: MeshGeometry, surface: Surface | None) -> int:
        """The mesh of a geometry with a look; ``None``: only collided with."""
        key = (geometry.content, surface)
        if key not in self._mesh_of:
            primitive = dict(self._primitive(geometry))
            if surface is not None:
                primitive["material"] = self._material(surface)
            entry: dict[str, Any] = {"primitives": [primitive]}
            if geometry.name:
                entry["name"] = geometry.name
            self._mesh_of[key] = len(self._meshes)
            self._meshes.append(entry)
        return self._mesh_of[key]

    def _primitive(self, geometry: MeshGeometry) -> dict[str, Any]:
        known = self._primitive_of.get(geometry.content)
        if known is not None:
            return known
        attributes = {"POSITION": self._vertices(geometry.points, bounds=True)}
        normals = None if geometry.normals is None else _unit_rows(geometry.normals)
        if normals is not None:
            attributes["NORMAL"] = self._vertices(normals)
        if geometry.uvs is not None and np.isfinite(geometry.uvs).all():
            attributes["TEXCOORD_0"] = self._vertices(geometry.uvs)
        found = {"attributes": attributes, "indices": self._indices(geometry)}
        self._primitive_of[geometry.content] = found
        return found

    def _vertices(self, values: FloatArray, *, bounds: bool = False) -> int:
        packed = np.ascontiguousarray(values, dtype="<f4")
        entry = {
            "componentType": _FLOAT,
            "count": len(packed),
            "type": f"VEC{packed.shape[1]}",
        }
        if bounds:
            entry["min"] = [float(v) for v in packed.min(axis=0)]
            entry["max"] = [float(v) for v in packed.max(axis=0)]
        return self._accessor(packed.tobytes(), entry, _ARRAY_BUFFER)

    def _indices(self, geometry: MeshGeometry) -> int:
        kind, dtype = (_UINT16, "<u2") if len(geometry.points) < 65535 else (_UINT32, "<u4")
        packed = np.ascontiguousarray(geometry.triangles.reshape(-1), dtype=dtype)
        entry = {"componentType": kind, "count": len(packed), "type": "SCALAR"}
        return self._accessor(packed.tobytes(), entry, _ELEMENT_ARRAY_BUFFER)

    def _accessor(self, data: bytes, entry: dict[str, Any], target: int) -> int:
        self._accessors.append({"bufferView": self._view(data, target), **entry})
        return len(self._accessors) - 1

    def _view(self, data: bytes, target: int | None) -> int:
        self.data += bytes(-len(self.data) % 4)
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data)}
        if target is not None:
            view["target"] = target
        self.data += data
        self._views.append(view)
        return len(self._views) - 1

    def _material(self, surface: Surface) -> int:
        if surface not in self._material_of:
            *color, alpha = surface.color
            look: dict[str, Any] = {
                "baseColorFactor": [*map(_linear, color), min(max(alpha, 0.0), 1.0)],
                "metallicFactor": 0.0,
                "roughnessFactor": 0.8,
            }
            if surface.texture is not None:
                look["baseColorTexture"] = {"index": self._image(surface.texture)}
            entry: dict[str, Any] = {"pbrMetallicRoughness": look}
            if alpha < 1.0:
                entry["alphaMode"] = "BLEND"
            if surface.double_sided:
                entry["doubleSided"] = True
            self._material_of[surface] = len(self._materials)
            self._materials.append(entry)
        return self._material_of[surface]

    def _image(self, data: bytes) -> int:
        if data not in self._images:
            mime = "image/png" if data.startswith(b"\x89PNG") else "image/jpeg"
            self._images[data] = len(self._image_views)
            self._image_views.append({"bufferView": self._view(data, None), "mimeType": mime})
        return self._images[data]


def _linear(shown: float) -> float:
    """SRGB as PyBullet takes it to linear as glTF does (IEC 61966-2-1)."""
    value = min(max(shown, 0.0), 1.0)
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _unit_rows(normals: FloatArray) -> FloatArray | None:
    """Normals of length 1 (the specification's demand); ``None`` where one has no direction."""
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or float(lengths.min(initial=1.0)) < 1e-12:
        return None
    result: FloatArray = normals / lengths
    return result
