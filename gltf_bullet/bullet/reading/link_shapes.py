"""Colliders and visuals of the links of a PyBullet world."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pybullet

from gltf_bullet.bullet.reading.bullet_file import BulletFile, Record, SavedMesh
from gltf_bullet.bullet.reading.issues import (
    COLLIDER_UNREADABLE,
    TEXTURE_UNREADABLE,
    VISUAL_UNREADABLE,
)
from gltf_bullet.bullet.rendering.pictures import png_of
from gltf_bullet.bullet.rendering.visuals import shown_mesh
from gltf_bullet.convert.description import (
    BallShape,
    BoxShape,
    ColliderDescription,
    MeshGeometry,
    MeshShape,
    PlaneShape,
    RoundShape,
    ShapeGeometry,
    Surface,
    VisualDescription,
)
from gltf_bullet.convert.mesh_files import MeshFile, read_mesh_file
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, Pose, rotation_to

# --- Primitive shapes in the engine's own file ----------------------------------------------------

_BOX: Final = 0
_BALL: Final = 8
_CAPSULE: Final = 10
_CYLINDER: Final = 13
_PLANE: Final = 28
"""Shape types: ``BroadphaseNativeTypes`` of Bullet."""
_Z: Final = 2
"""Axis of PyBullet's capsules and cylinders."""


def saved_primitive(saved: BulletFile, address: int) -> ShapeGeometry | None:
    """Return the primitive at an address; ``None`` for meshes and other kinds of shapes."""
    kind, record = saved.shape(address) or (-1, None)
    if record is None or kind not in (_BOX, _BALL, _CAPSULE, _CYLINDER, _PLANE):
        return None
    if kind == _PLANE:
        x, y, z = map(_as_written, record.vector("m_planeNormal"))
        return PlaneShape((x, y, z)) if record["m_planeConstant"] == 0.0 else None
    if kind in (_CAPSULE, _CYLINDER):
        if record["m_upAxis"] != _Z:
            return None
        record = record["m_convexInternalShapeData"]
    x, y, z = map(_as_written, record.vector("m_implicitShapeDimensions"))
    if kind == _BALL:
        return BallShape(x)
    if kind == _CAPSULE:
        return RoundShape(x, 2.0 * z, is_capsule=True)
    # Bullet keeps boxes and cylinders less their margin.
    margin = _as_written(record["m_collisionMargin"])
    if kind == _CYLINDER:
        return RoundShape(x + margin, 2.0 * (z + margin), is_capsule=False)
    return BoxShape((2.0 * (x + margin), 2.0 * (y + margin), 2.0 * (z + margin)))


def _as_written(value: float) -> float:
    """Return the shortest number with the same value in the file's single precision."""
    return float(str(np.float32(value)))


class LinkShapes:
    """Reads shapes of one world; each mesh file is read once."""

    def __init__(
        self,
        client_id: int,
        saved: BulletFile,
        diagnostics: Diagnostics,
        may_read: Callable[[Path], bool] | None = None,
    ) -> None:
        """``may_read``: returns True for mesh files that may be read; ``None``: all may."""
        self._client = client_id
        self._may_read = may_read
        self._saved = saved
        self._diagnostics = diagnostics
        # PyBullet also reports a file without a name for a mesh collider without a visual
        # (measured).
        self._files: dict[str, MeshFile | str] = {"": "PyBullet does not tell it"}
        self._meshes: dict[int, list[list[MeshShape]]] = {}

    def colliders(
        self, body: int, link: int, link_from_inertial: Pose, saved: Record | None, shown: str
    ) -> tuple[ColliderDescription, ...]:
        """Return the solid shapes of a link; ``saved`` is its collision object."""
        if saved is not None and self._saved.has_balls(saved["m_collisionShape"]):
            return self._balls(saved["m_collisionShape"], link_from_inertial, shown)
        data = pybullet.getCollisionShapeData(body, link, physicsClientId=self._client)
        meshes = self._meshes_at(saved["m_collisionShape"]) if saved is not None else []
        if len(data) == 1:
            # If a mesh file has an identity pose in its link, its objects are children of the
            # link's own compound, not of a compound below it (measured).
            meshes = [[mesh for parts in meshes for mesh in parts]]
        found: list[ColliderDescription] = []
        for k, entry in enumerate(data):
            kind, size = entry[2], entry[3]
            # Relative to the inertial frame, unlike those of visuals (measured).
            pose = link_from_inertial @ Pose(entry[6], entry[5])
            shape = primitive_of(kind, size)
            if shape is not None:
                found.append(ColliderDescription(shape, pose))
                continue
            parts = meshes[k] if k < len(meshes) else []
            if not parts:
                what = entry[4].decode(errors="replace") or f"a shape of type {kind}"
                self._diagnostics.report(COLLIDER_UNREADABLE, ROOT, what=what, link=shown)
            found += [ColliderDescription(part, pose) for part in parts]
        if not data and saved is not None and saved["m_collisionShape"]:
            shape = saved["m_collisionShape"]
            if self._saved.meshes(shape) == [[]] and not self._saved.is_empty_compound(shape):
                self._diagnostics.report(COLLIDER_UNREADABLE, ROOT, what="a shape", link=shown)
        return tuple(found)

    def saved_colliders(
        self, address: int, link_from_inertial: Pose, shown: str
    ) -> tuple[ColliderDescription, ...]:
        """Return the solid shapes from the saved world alone."""
        if self._saved.has_balls(address):
            return self._balls(address, link_from_inertial, shown)
        found: list[ColliderDescription] = []
        for frame, part in self._saved.parts(address):
            found += self._saved_part(frame, part, link_from_inertial, shown)
        return tuple(found)

    def _saved_part(
        self, frame: FloatArray, part: int, link_from_inertial: Pose, shown: str
    ) -> list[ColliderDescription]:
        """Return one child of a shape in the saved world; ``frame``: its pose there, [4, 4]."""
        inner = self._saved.parts(part)
        if [address for _, address in inner] != [part]:
            # MJCF's cylinders from one point to another are compounds of one child (measured).
            return [
                collider
                for within, child in inner
                for collider in self._saved_part(frame @ within, child, link_from_inertial, shown)
            ]
        pose = link_from_inertial @ Pose.from_matrix(frame)
        shape = saved_primitive(self._saved, part)
        if shape is not None:
            return [ColliderDescription(shape, pose)]
        meshes = [mesh for parts in self._meshes_at(part) for mesh in parts]
        if not meshes:
            self._diagnostics.report(COLLIDER_UNREADABLE, ROOT, what="a shape", link=shown)
        return [ColliderDescription(mesh, pose) for mesh in meshes]

    def _balls(
        self, address: int, link_from_inertial: Pose, shown: str
    ) -> tuple[ColliderDescription, ...]:
        """Return shapes with hulls of balls among them: MJCF's capsules."""
        found: list[ColliderDescription] = []
        balls_of = self._saved.balls(address)
        for (frame, part), balls in zip(self._saved.parts(address), balls_of, strict=True):
            if balls is None:
                found += self._saved_part(frame, part, link_from_inertial, shown)
                continue
            if len(balls.radii) > 2 or np.ptp(balls.radii) > 0.0:
                self._diagnostics.report(
                    COLLIDER_UNREADABLE, ROOT, what="a hull of balls", link=shown
                )
                continue
            pose = link_from_inertial @ Pose.from_matrix(balls.shape_from_balls)
            radius = float(balls.radii[0])
            x, y, z = balls.centers.mean(axis=0).tolist()
            if len(balls.radii) == 1:
                placed = pose @ Pose.from_translation((x, y, z))
                found.append(ColliderDescription(BallShape(radius), placed))
                continue
            along = balls.centers[1] - balls.centers[0]
            length = float(np.linalg.norm(along))
            turn = rotation_to((0.0, 0.0, 1.0), tuple((along / length).tolist()))
            shape = RoundShape(radius, length, is_capsule=True)
            found.append(ColliderDescription(shape, pose @ Pose(turn, (x, y, z))))
        return tuple(found)

    def _meshes_at(self, address: int) -> list[list[MeshShape]]:
        if address not in self._meshes:
            self._meshes[address] = [
                [shape for part in parts if (shape := _mesh_shape(part)) is not None]
                for parts in self._saved.meshes(address)
            ]
        return self._meshes[address]

    def visuals(
        self, data: Sequence[Any], colliders: Sequence[ColliderDescription], shown: str
    ) -> tuple[VisualDescription, ...]:
        """Return the visuals of a link.

        Args:
            data: Its entries of ``getVisualShapeData``.
            colliders: Colliders of the link, shown in place of meshes that cannot be read.
            shown: Name of the link for messages.
        """
        found = []
        for entry in data:
            kind, size, file, position, turn, color, texture = entry[2:9]
            if kind == pybullet.GEOM_PLANE and not any(size):
                size = (0.0, 0.0, 1.0)  # PyBullet returns no normal for visual planes
            if color[3] == 0.0 or not any(size):
                continue  # invisible
            pose = Pose(turn, position)
            shape = primitive_of(kind, size)
            image: bytes | None = None
            scale = (1.0, 1.0, 1.0)
            ours = None if shape is not None else self._mesh_of_ours(entry, pose)
            if ours is not None:
                found.append(ours)
                continue
            if shape is None:
                mesh = self._mesh_file(file.decode(errors="replace"), shown)
                if mesh is None:
                    found += [
                        VisualDescription(
                            c.shape, c.link_from_shape, surface=Surface(tuple(color), None)
                        )
                        for c in colliders
                    ]
                    continue
                shape, image, scale = MeshShape(mesh.geometry), mesh.texture, size
            # Every plane has PyBullet's own checkerboard, whichever texture was set (measured).
            if texture >= 0 and image is None and kind != pybullet.GEOM_PLANE:
                self._diagnostics.report(TEXTURE_UNREADABLE, ROOT, link=shown)
            if texture < 0:
                image = None
            found.append(VisualDescription(shape, pose, scale, Surface(tuple(color), image)))
        return tuple(found)

    def is_ours(self, entry: Sequence[Any]) -> bool:
        """Return True if an entry of ``getVisualShapeData`` is a mesh of one of our scenes."""
        return self._mesh_of_ours(entry, IDENTITY_POSE) is not None

    def _mesh_of_ours(self, entry: Sequence[Any], pose: Pose) -> VisualDescription | None:
        """Return a mesh of one of our scenes; PyBullet returns neither it nor its texture."""
        mesh = shown_mesh(self._client, entry[0], entry[1])
        # If the colour differs, the scene's body is gone and the id is another body's.
        if mesh is None or not np.allclose(entry[7], mesh.color, atol=1e-6):
            return None
        geometry = MeshGeometry(mesh.points, mesh.triangles, mesh.normals, mesh.uvs)
        image = None if mesh.texture is None else png_of(mesh.texture.pixels)
        return VisualDescription(MeshShape(geometry), pose, entry[3], Surface(mesh.color, image))

    def _mesh_file(self, path: str, shown: str) -> MeshFile | None:
        if path not in self._files:
            try:
                self._files[path] = read_mesh_file(path, self._may_read)
            except (OSError, ValueError, ImportError) as error:
                self._files[path] = str(error) or type(error).__name__
        found = self._files[path]
        if isinstance(found, str):
            got = repr(path)[-60:] if path else "from memory"
            self._diagnostics.report(
                VISUAL_UNREADABLE, ROOT, got=got, link=shown, why=found[:100],
                done="its colliders are shown where there are any, else nothing",
            )  # fmt: skip
            return None
        return found


def primitive_of(kind: int, size: Sequence[float]) -> ShapeGeometry | None:
    """Return a shape from PyBullet's type and size; ``None`` for meshes."""
    if kind == pybullet.GEOM_BOX:
        return BoxShape((size[0], size[1], size[2]))
    if kind == pybullet.GEOM_SPHERE:
        return BallShape(size[0])
    if kind in (pybullet.GEOM_CYLINDER, pybullet.GEOM_CAPSULE):
        return RoundShape(size[1], size[0], kind == pybullet.GEOM_CAPSULE)
    if kind == pybullet.GEOM_PLANE:
        return PlaneShape((size[0], size[1], size[2]))
    return None


def _mesh_shape(part: SavedMesh) -> MeshShape | None:
    """Return triangles as they are, or a convex hull with its facets."""
    from scipy.spatial import ConvexHull, QhullError

    if part.triangles is not None:
        return MeshShape(MeshGeometry(part.points, part.triangles)) if len(part.triangles) else None
    points = np.unique(part.points, axis=0)
    if len(points) < 3:
        return None
    try:
        hull = ConvexHull(points)
    except QhullError:
        # Flat: any triangles with all of its points have the same hull.
        fan = np.arange(1, len(points) - 1)
        triangles = np.stack([np.zeros_like(fan), fan, fan + 1], axis=1)
        return MeshShape(MeshGeometry(points, triangles), is_convex=True)
    corners = points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0.0
    triangles = np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)
    used, triangles = np.unique(triangles, return_inverse=True)
    geometry = MeshGeometry(points[used], triangles.reshape(-1, 3))
    return MeshShape(geometry, is_convex=True)
