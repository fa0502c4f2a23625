"""A :class:`WorldDescription` as a glTF file with its physics, checked before it is written."""

from __future__ import annotations

import math
import os
from functools import cache
from typing import Any

import numpy as np

from gltf_bullet.convert import description
from gltf_bullet.convert.physics import place_world
from gltf_bullet.convert.world_nodes import WorldNodes
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects.khr.scene import physics_to_khr
from gltf_bullet.gltf.writing import write_document
from gltf_bullet.model import PhysicsScene
from gltf_bullet.transforms import FloatArray, Pose, Vec3, quat_rotate, rotation_to
from gltf_bullet.version import __version__

# --- Triangles for shapes that are drawn, since glTF has no primitives for them -------------------

_SECTORS = 24
"""Number of sectors of a cylinder."""
_RINGS = 6
"""Number of rings of half a ball, four sectors more in each: 288 triangles hold 96 % of its volume,
as many sectors in every ring take 384. An engine takes 0.3 us and 0.2 kB for each of every copy, in
memory that it uses for the first time (measured)."""
_PLANE = 50.0
"""[m] Half the edge of the square that shows an infinite plane."""


def shown_geometry(shape: description.ShapeGeometry) -> description.MeshGeometry:
    """The surface of a shape in its own frame (Bullet's: round ones are along +Z)."""
    if isinstance(shape, description.BoxShape):
        return _box(shape.size)
    if isinstance(shape, description.BallShape):
        return _rounded(shape.radius, 0.0, "sphere")
    if isinstance(shape, (description.RoundShape, description.TaperedShape)):
        half, r = 0.5 * shape.height, shape.radius
        top = shape.radius_top if isinstance(shape, description.TaperedShape) else r
        if shape.is_capsule:
            return _rounded(r, half, "capsule", top)
        slope = math.hypot(r - top, shape.height) or 1.0
        outwards, upwards = shape.height / slope, (r - top) / slope
        profile = [
            (0.0, -half, 0.0, -1.0), (r, -half, 0.0, -1.0),
            (r, -half, outwards, upwards), (top, half, outwards, upwards),
            (top, half, 0.0, 1.0), (0.0, half, 0.0, 1.0),
        ]  # fmt: skip
        return _revolved(profile, "cylinder" if top == r else "cone")
    if isinstance(shape, description.PlaneShape):
        square = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * _PLANE
        turn = Pose(rotation_to((0.0, 0.0, 1.0), shape.normal), (0.0, 0.0, 0.0))
        points = quat_rotate(np.array(turn.rotation_xyzw), square)
        normals = np.tile(np.array(shape.normal), (4, 1))
        return description.MeshGeometry(
            points, np.array([[0, 1, 2], [0, 2, 3]]), normals, name="plane"
        )
    return shape.geometry


def _box(size: tuple[float, float, float]) -> description.MeshGeometry:
    points: list[FloatArray] = []
    normals: list[FloatArray] = []
    triangles: list[list[int]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal = np.zeros(3)
            normal[axis] = sign
            u, v = np.roll(np.eye(3), 1, axis=0)[axis], np.roll(np.eye(3), 2, axis=0)[axis]
            first, second = (u, v) if np.cross(u, v) @ normal > 0.0 else (v, u)
            start = len(points)
            points += [normal + a * first + b * second
                       for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]  # fmt: skip
            normals += [normal] * 4
            triangles += [[start, start + 1, start + 2], [start, start + 2, start + 3]]
    return description.MeshGeometry(
        np.array(points) * np.array(size) * 0.5, np.array(triangles), np.array(normals), name="box"
    )


def _rounded(
    radius: float, half: float, name: str, top: float | None = None
) -> description.MeshGeometry:
    """Two halves of balls about Z, moved apart by ``half`` each; ``top``: the upper radius."""
    rings = [(np.zeros(1), 0.0)]
    rings += [
        (np.linspace(0.0, 2.0 * np.pi, 4 * k, endpoint=False), 0.5 * np.pi * k / _RINGS)
        for k in range(1, _RINGS + 1)
    ]
    upper = np.concatenate(
        [
            np.column_stack(
                [np.cos(at) * np.sin(off), np.sin(at) * np.sin(off), np.full(len(at), np.cos(off))]
            )
            for at, off in rings
        ]
    )
    triangles = []
    inner, outer = 0, 1  # where the rings begin
    for k in range(_RINGS):
        count, further = max(4 * k, 1), 4 * (k + 1)
        for quarter in range(4):
            for j in range(k + 1):
                near = inner + (quarter * k + j) % count
                far = outer + quarter * (k + 1) + j
                next_far = outer + (quarter * (k + 1) + j + 1) % further
                triangles.append([near, far, next_far])
                if j < k:
                    triangles.append([near, next_far, inner + (quarter * k + j + 1) % count])
        inner, outer = outer, outer + further
    lower = [[a, c, b] for a, b, c in (np.array(triangles) + len(upper)).tolist()]
    if half > 0.0:
        for k in range(4 * _RINGS):
            a, b = inner + k, inner + (k + 1) % (4 * _RINGS)
            c, d = a + len(upper), b + len(upper)
            lower += [[c, d, b], [c, b, a]]
    normals = np.concatenate([upper, upper * (1.0, 1.0, -1.0)])
    shift = np.repeat([half, -half], len(upper))
    radii = np.where(shift > 0.0, radius if top is None else top, radius)
    points = radii[:, None] * normals + np.column_stack([0.0 * shift, 0.0 * shift, shift])
    return description.MeshGeometry(points, np.array(triangles + lower), normals, name=name)


def _revolved(
    profile: list[tuple[float, float, float, float]], name: str
) -> description.MeshGeometry:
    """Surface of revolution about Z, by rings from bottom to top."""
    angle = np.linspace(0.0, 2.0 * np.pi, _SECTORS, endpoint=False)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points: list[FloatArray] = []
    normals: list[FloatArray] = []
    for radius, z, outwards, upwards in profile:
        points.append(np.column_stack([radius * circle, np.full(_SECTORS, z)]))
        normals.append(np.column_stack([outwards * circle, np.full(_SECTORS, upwards)]))
    triangles = []
    for ring in range(len(profile) - 1):
        if profile[ring][:2] == profile[ring + 1][:2]:
            continue  # an edge: one place, two normals
        for k in range(_SECTORS):
            a, b = ring * _SECTORS + k, ring * _SECTORS + (k + 1) % _SECTORS
            c, d = a + _SECTORS, b + _SECTORS
            if profile[ring][0] > 1e-12:
                triangles.append([a, b, d])
            if profile[ring + 1][0] > 1e-12:
                triangles.append([a, d, c])
    return description.MeshGeometry(
        np.concatenate(points), np.array(triangles), np.concatenate(normals), name=name
    )


# --- The document of a world ----------------------------------------------------------------------

_BODIES = "KHR_physics_rigid_bodies"
_GRAVITY = "OMI_physics_gravity"
_NEAR = 0.01
"""[m] Near plane of cameras; the specification requires one."""
_FLOAT, _UINT16, _UINT32 = 5126, 5123, 5125
_ARRAY_BUFFER, _ELEMENT_ARRAY_BUFFER = 34962, 34963


class WorldFile:
    """A glTF document in memory."""

    def __init__(self, root: dict[str, Any], data: bytes, nodes: WorldNodes) -> None:
        self.root = root
        self.data = data
        """Content of the only buffer."""
        self.nodes = nodes

    @property
    def buffers(self) -> list[bytes | memoryview | None]:
        """The buffers in the form that ``write_document`` takes."""
        return [self.data] if self.data else []

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write ``.glb`` or ``.gltf``, whole or not at all; see ``write_document`` for errors."""
        write_document(self.root, self.buffers, path)


def build_world(world: description.WorldDescription, diagnostics: Diagnostics) -> WorldFile:
    """Build one document of ``world``; properties that glTF lacks are reported."""
    placed = place_world(world, diagnostics)
    parts = _Parts()
    for geometry in placed.collision_meshes:  # in the order of their indices
        parts.mesh(geometry, None)
    nodes = placed.nodes.entries
    shown = cache(shown_geometry)  # of many equal shapes one
    for node, visual in placed.visuals:
        nodes[node]["mesh"] = parts.mesh(shown(visual.shape), visual.surface)
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
    scene = PhysicsScene(
        motions=placed.motions,
        colliders=placed.colliders,
        triggers=placed.triggers,
        joints=placed.joints,
    )
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
    """OMI_physics_gravity of a scene; ``gravity`` is in the world [m/s^2]."""
    x, y, z = gravity
    strength = math.hypot(x, y, z)
    turned = (x, z, -y) if up_axis == "z" else (x, y, z)
    if strength == 0.0:
        return {"gravity": 0.0, "direction": [0.0, -1.0, 0.0]}
    return {"gravity": strength, "direction": [value / strength for value in turned]}


class _Parts:
    """Buffers, accessors, meshes, materials and textures of the file, each content once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._views: list[dict[str, Any]] = []
        self._accessors: list[dict[str, Any]] = []
        self._meshes: list[dict[str, Any]] = []
        self._materials: list[dict[str, Any]] = []
        self._images: dict[bytes, int] = {}
        self._image_views: list[dict[str, Any]] = []
        self._primitive_of: dict[bytes, dict[str, Any]] = {}
        self._mesh_of: dict[tuple[bytes, description.Surface | None], int] = {}
        self._material_of: dict[description.Surface, int] = {}

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

    def mesh(self, geometry: description.MeshGeometry, surface: description.Surface | None) -> int:
        """The mesh of a geometry and an appearance; ``None`` for a collision mesh."""
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

    def _primitive(self, geometry: description.MeshGeometry) -> dict[str, Any]:
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

    def _indices(self, geometry: description.MeshGeometry) -> int:
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

    def _material(self, surface: description.Surface) -> int:
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
    """Linear colour component, as glTF has it, from sRGB as in PyBullet (IEC 61966-2-1)."""
    value = min(max(shown, 0.0), 1.0)
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _unit_rows(normals: FloatArray) -> FloatArray | None:
    """Normals of length 1, as the specification requires; ``None`` if one has no direction."""
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or float(lengths.min(initial=1.0)) < 1e-12:
        return None
    result: FloatArray = normals / lengths
    return result
