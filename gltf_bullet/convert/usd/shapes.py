"""Geometric prims as shapes: what collides, what is drawn, and the volumes of both.

Sizes are in metres; round shapes are along +Z, as the shapes of a description.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from msgspec import Struct
from pxr import UsdGeom, UsdPhysics

from gltf_bullet.convert.description import (
    BallShape,
    BoxShape,
    MeshGeometry,
    MeshShape,
    PlaneShape,
    RoundShape,
    ShapeGeometry,
    TaperedShape,
)
from gltf_bullet.convert.usd.losses import Losses
from gltf_bullet.convert.usd.stage import TIME, Entry, pose_and_scale
from gltf_bullet.model import Box, Capsule, Cylinder, Sphere
from gltf_bullet.model.mass_properties import Moments, mesh_moments, solid_moments
from gltf_bullet.records import replace
from gltf_bullet.transforms import FloatArray, IntArray, Pose, Vec3, matrices_from_quats

_ONE: Final = (1.0, 1.0, 1.0)
_SHEAR: Final = 1e-5
"""Largest cosine between the axes of a prim whose shape keeps its words; float32 makes 1e-7."""
_EVEN: Final = 1e-5
"""Largest relative difference of scales that are taken for equal."""
_HALF: Final = 0.5**0.5
_TURNS: Final[dict[str, Pose]] = {
    "X": Pose((0.0, _HALF, 0.0, _HALF), (0.0, 0.0, 0.0)),
    "Y": Pose((-_HALF, 0.0, 0.0, _HALF), (0.0, 0.0, 0.0)),
    "Z": Pose((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
}
"""Rotations that bring +Z to an axis."""
_FLIP: Final = Pose((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
_CORNERS: Final = 24
"""Corners of a circle of a hull that stands for a sheared round shape."""


class PlacedShape(Struct, frozen=True):
    """A shape in the frame of its link."""

    shape: ShapeGeometry
    link_from_shape: Pose
    scale: Vec3
    volume: Callable[[], Moments]
    """Its moments in the frame of the link."""


class Shapes:
    """Shapes of prims; each mesh is read once."""

    def __init__(self, length: float, losses: Losses) -> None:
        """Remember the unit of length [m]."""
        self._length = length
        self._losses = losses
        self._meshes: dict[Any, MeshGeometry | None] = {}
        self._hull_of = cache(_hull)

    def drawn(self, entry: Entry, link_from_stage: FloatArray) -> PlacedShape | None:
        """The shape of a prim as it is drawn, in a frame of the stage's units."""
        return self._place(entry, link_from_stage, "none")

    def collider(self, entry: Entry, link_from_stage: FloatArray) -> PlacedShape | None:
        """The shape of a prim as it collides."""
        approximation = "none"
        if entry.prim.IsA(UsdGeom.Mesh):
            stated = UsdPhysics.MeshCollisionAPI(entry.prim).GetApproximationAttr()
            approximation = str(stated.Get() or "none") if stated else "none"
        return self._place(entry, link_from_stage, approximation)

    # --- shapes ---------------------------------------------------------------------------------

    def _place(
        self, entry: Entry, link_from_stage: FloatArray, approximation: str
    ) -> PlacedShape | None:
        prim = entry.prim
        pose, scale, shear = pose_and_scale(link_from_stage @ entry.matrix, self._length)
        if prim.IsA(UsdGeom.Mesh):
            geometry = self.mesh(entry)
            if geometry is None:
                return None
            if shear > _SHEAR:
                geometry = self._sheared(geometry, link_from_stage @ entry.matrix, pose)
                scale = _ONE
            return self._mesh_shape(entry, geometry, pose, scale, approximation)
        kind = prim.GetTypeName()
        if kind not in _READERS:
            return None
        shape, turn = _READERS[kind](prim, self._length)
        if shear > _SHEAR and not isinstance(shape, PlaneShape):
            self._losses.changed(
                "a sheared shape", entry.path, "the hull of its corners",
                f"round ones up to {100.0 * (1.0 - math.cos(math.pi / _CORNERS)):.2g} %",
            )  # fmt: skip
            geometry = self._sheared(
                _corners(shape), link_from_stage @ entry.matrix @ turn.matrix(), pose
            )
            return self._mesh_shape(entry, geometry, pose, _ONE, "convexHull")
        return self._scaled(shape, pose, scale, turn)

    @staticmethod
    def _scaled(shape: ShapeGeometry, pose: Pose, scale: Vec3, turn: Pose) -> PlacedShape:
        """A shape with as much of the scale in its sizes as its kind can have."""
        # A turn that brings +Z to an axis only permutes the axes.
        rotation = turn.matrix()[:3, :3].round()
        x, y, along = (np.abs(rotation).T @ np.abs(scale)).tolist()
        is_flipped = float(np.abs(rotation[:, 2]) @ scale) < 0.0
        is_even = abs(x - y) <= _EVEN * max(x, y)
        left = _ONE
        if isinstance(shape, BoxShape):
            a, b, c = shape.size
            shape = BoxShape((a * x, b * y, c * along))
        elif isinstance(shape, BallShape):
            if is_even and abs(x - along) <= _EVEN * max(x, along):
                shape = BallShape(shape.radius * x)
            else:
                left = (x, y, along)
        elif isinstance(shape, (RoundShape, TaperedShape)):
            if is_even:
                shape = replace(shape, radius=shape.radius * x, height=shape.height * along)
                if isinstance(shape, TaperedShape):
                    shape = replace(shape, radius_top=shape.radius_top * x)
            else:
                left = (x, y, along)
            if is_flipped:
                turn = turn @ _FLIP
        link_from_shape = pose @ turn
        return PlacedShape(
            shape, link_from_shape, left, lambda: _moments(shape, link_from_shape, left)
        )

    def _mesh_shape(
        self,
        entry: Entry,
        geometry: MeshGeometry,
        pose: Pose,
        scale: Vec3,
        approximation: str,
    ) -> PlacedShape:
        points = geometry.points
        low, high = points.min(axis=0), points.max(axis=0)
        if approximation in ("boundingCube", "boundingSphere"):
            middle = Pose.from_translation(_vector(0.5 * (low + high) * scale))
            size = (high - low) * np.abs(scale)
            shape: ShapeGeometry = BoxShape(_vector(size))
            if approximation == "boundingSphere":
                reach = np.linalg.norm((points - 0.5 * (low + high)) * scale, axis=1)
                shape = BallShape(float(reach.max()))
            place = pose @ middle
            return PlacedShape(shape, place, _ONE, lambda: _moments(shape, place, _ONE))
        if approximation in ("meshSimplification", "sdf"):
            self._losses.changed(
                f"the approximation {approximation!r}", entry.path, "the mesh itself collides",
                "what the other engine's is off by",
            )  # fmt: skip
        is_convex = approximation == "convexHull"
        mesh = MeshShape(geometry, is_convex)
        return PlacedShape(mesh, pose, scale, lambda: self._mesh_moments(mesh, pose, scale))

    def _mesh_moments(self, mesh: MeshShape, pose: Pose, scale: Vec3) -> Moments:
        linear = matrices_from_quats(np.array(pose.rotation_xyzw)) @ np.diag(scale)
        geometry = mesh.geometry
        found = Moments.zero()
        if not mesh.is_convex:
            found = mesh_moments(geometry.points, geometry.triangles.astype(np.int64))
        if found.volume <= 0.0:
            found = self._hull_of(geometry)
        return found.mapped(linear, np.array(pose.translation))

    # --- meshes ---------------------------------------------------------------------------------

    def mesh(self, entry: Entry) -> MeshGeometry | None:
        """The triangles of a mesh in its own frame [m], corners as they are."""
        prim = entry.prim
        key = (prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim).GetPath()
        if key not in self._meshes:
            self._meshes[key] = self._read_mesh(entry)
        return self._meshes[key]

    def _read_mesh(self, entry: Entry) -> MeshGeometry | None:
        mesh = UsdGeom.Mesh(entry.prim)
        points = np.asarray(mesh.GetPointsAttr().Get(TIME) or (), dtype=np.float64).reshape(-1, 3)
        faces = face_corners(mesh)
        if faces is None or not len(points) or not np.isfinite(points).all():
            what = "a mesh without points or whose faces do not add up"
            self._losses.lost(what, entry.path)
            return None
        corners, triangles, _ = faces
        indices = corners[triangles]
        if len(indices) == 0 or indices.min() < 0 or indices.max() >= len(points):
            self._losses.lost("a mesh whose faces name points that it has not", entry.path)
            return None
        return MeshGeometry(points * self._length, indices, name=entry.prim.GetName())

    def _sheared(self, geometry: MeshGeometry, matrix: FloatArray, pose: Pose) -> MeshGeometry:
        rotation = matrices_from_quats(np.array(pose.rotation_xyzw))
        points = geometry.points @ (rotation.T @ matrix[:3, :3]).T
        triangles = geometry.triangles
        if np.linalg.det(matrix[:3, :3]) < 0.0:
            triangles = triangles[:, ::-1]
        return MeshGeometry(points, triangles, name=geometry.name)


def face_corners(mesh: Any) -> tuple[IntArray, IntArray, IntArray] | None:
    """Points by corner, triangles as numbers of corners, and the face of each triangle.

    Faces are fans around their first corner, with outward triangles counterclockwise. ``None`` if
    counts and indices do not add up.
    """
    counts = np.asarray(mesh.GetFaceVertexCountsAttr().Get(TIME) or (), dtype=np.intp)
    corners = np.asarray(mesh.GetFaceVertexIndicesAttr().Get(TIME) or (), dtype=np.intp)
    if not len(counts) or counts.min() < 0 or counts.sum() != len(corners):
        return None
    holes = np.asarray(mesh.GetHoleIndicesAttr().Get(TIME) or (), dtype=np.intp)
    inside = np.maximum(counts - 2, 0)
    inside[holes[(holes >= 0) & (holes < len(counts))]] = 0
    face = np.repeat(np.arange(len(counts)), inside)
    first = (np.cumsum(counts) - counts)[face]
    step = np.arange(len(face)) - np.repeat(np.cumsum(inside) - inside, inside)
    triangles = np.column_stack([first, first + step + 1, first + step + 2])
    if mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded:
        triangles = triangles[:, ::-1]
    return corners, triangles, face


# --- Geometric prims that are no meshes -----------------------------------------------------------


def _number(prim: Any, name: str, default: float) -> float:
    value = prim.GetAttribute(name).Get(TIME)
    return default if value is None else float(value)


def _axis(prim: Any) -> Pose:
    return _TURNS[str(prim.GetAttribute("axis").Get() or "Z")]


def _cube(prim: Any, length: float) -> tuple[ShapeGeometry, Pose]:
    size = _number(prim, "size", 2.0) * length
    return BoxShape((size, size, size)), _TURNS["Z"]


def _sphere(prim: Any, length: float) -> tuple[ShapeGeometry, Pose]:
    return BallShape(_number(prim, "radius", 1.0) * length), _TURNS["Z"]


def _round(radius: float, height: float) -> Callable[[Any, float], tuple[ShapeGeometry, Pose]]:
    """A reader of a capsule, cylinder or cone with the defaults of its schema."""

    def read(prim: Any, length: float) -> tuple[ShapeGeometry, Pose]:
        kind = str(prim.GetTypeName())
        top: float | None = None
        if kind.endswith("_1"):
            bottom = _number(prim, "radiusBottom", radius) * length
            top = _number(prim, "radiusTop", radius) * length
            if top == bottom:
                top = None
        else:
            bottom = _number(prim, "radius", radius) * length
            top = 0.0 if kind == "Cone" else None
        tall = _number(prim, "height", height) * length
        is_capsule = kind.startswith("Capsule")
        if top is None:
            return RoundShape(bottom, tall, is_capsule), _axis(prim)
        return TaperedShape(bottom, top, tall, is_capsule), _axis(prim)

    return read


def _plane(prim: Any, _length: float) -> tuple[ShapeGeometry, Pose]:
    return PlaneShape((0.0, 0.0, 1.0)), _axis(prim)


_READERS: Final[dict[str, Callable[[Any, float], tuple[ShapeGeometry, Pose]]]] = {
    "Cube": _cube,
    "Sphere": _sphere,
    "Capsule": _round(0.5, 1.0),
    "Capsule_1": _round(0.5, 1.0),
    "Cylinder": _round(1.0, 2.0),
    "Cylinder_1": _round(1.0, 2.0),
    "Cone": _round(1.0, 2.0),
    "Plane": _plane,
}
"""Readers of shapes by the type of the prim: the shape along +Z and the turn to its axis."""


# --- Volumes --------------------------------------------------------------------------------------

_Z_FROM_Y: Final = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Solids of the model are along +Y."""


def _moments(shape: ShapeGeometry, link_from_shape: Pose, scale: Vec3) -> Moments:
    """Moments in the frame of the link; a plane has none."""
    upright = np.eye(3)
    if isinstance(shape, BoxShape):
        solid: Box | Sphere | Capsule | Cylinder = Box(size=shape.size)
    elif isinstance(shape, BallShape):
        solid = Sphere(radius=shape.radius)
    elif isinstance(shape, (RoundShape, TaperedShape)):
        upright = _Z_FROM_Y
        top = shape.radius_top if isinstance(shape, TaperedShape) else shape.radius
        if shape.is_capsule:
            solid = Capsule(mid_height=shape.height, radius_bottom=shape.radius, radius_top=top)
        else:
            solid = Cylinder(height=shape.height, radius_bottom=shape.radius, radius_top=top)
    else:
        return Moments.zero()
    rotation = matrices_from_quats(np.array(link_from_shape.rotation_xyzw))
    linear = rotation @ np.diag(scale) @ upright
    return solid_moments(solid).mapped(linear, np.array(link_from_shape.translation))


def _hull(geometry: MeshGeometry) -> Moments:
    """Moments of the convex hull; nothing for points in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(geometry.points)
    except (QhullError, ValueError):
        return Moments.zero()
    outward = np.array(hull.equations[:, :3])
    triangles = np.array(hull.simplices)
    a, b, c = (geometry.points[triangles[:, k]] for k in range(3))
    inward = (np.cross(b - a, c - a) * outward).sum(axis=1) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return mesh_moments(geometry.points, triangles.astype(np.int64))


def _corners(shape: ShapeGeometry) -> MeshGeometry:
    """Triangles of a shape whose hull is the shape, to be sheared."""
    from gltf_bullet.convert.writer import shown_geometry

    return shown_geometry(shape)


def _vector(values: FloatArray) -> Vec3:
    x, y, z = (float(v) for v in values)
    return x, y, z
