"""Visual shapes: render meshes, collision shapes in the colour of their kind, or nothing.

Visual shapes and textures are kept per client by content, as collision shapes are. Most bodies get
one shared dummy: a body without any visual makes Bullet tessellate its collision shape (150-220 us
per round body, measured).

A mesh from memory costs 0.5 ms per 1000 vertices and body, as a file twice to five times that
(measured), so files are for clients with the EGL plugin only, which cannot do without.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pybullet

from gltf_bullet.bullet.kept_files import KEPT_FILES
from gltf_bullet.bullet.rendering.visual_files import MeshFiles, load_texture, obj_text
from gltf_bullet.bullet.session import EngineSession
from gltf_bullet.bullet.shapes.engine_shapes import MAX_INDICES, MAX_VERTICES
from gltf_bullet.model import MotionKind
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.body_plans import BodyPlan, ColliderGroup, StaticPlan
from gltf_bullet.planning.shapes.hulls import convex_hull
from gltf_bullet.planning.shapes.shape_plans import (
    BvhPlan,
    ConvexPartsPlan,
    CylinderPlan,
    HullPlan,
    InfinitePlanePlan,
    PlacedShape,
)
from gltf_bullet.rendering.visual_plans import (
    Color,
    NodeVisual,
    VisualMesh,
    VisualPlans,
    flat_shaded,
)
from gltf_bullet.transforms import FloatArray, quats_from_matrices

__all__ = ["BodyVisuals", "ShownLink", "mesh_arguments", "move_links"]

STATIC_COLOR: Color = (0.66, 0.68, 0.71, 1.0)
"""Red, green, blue, alpha of what never moves."""
COLOR_OF_KIND: dict[MotionKind, Color] = {
    MotionKind.DYNAMIC: (0.94, 0.53, 0.18, 1.0),
    MotionKind.KINEMATIC: (0.24, 0.51, 0.86, 1.0),
    MotionKind.STATIC: STATIC_COLOR,
}
"""Of collision shapes in pictures."""

BULLET_SHOWS_IT = -1
"""The visual shape id by which Bullet draws the collision shape itself."""

CYLINDER_SIDES = 48
"""Bullet draws cylinders in compounds as dented balls (measured): these are ours."""

SHEET = 50.0
"""[m] from the middle of a plane to its edge, where a mesh stands for it."""


class _EngineVisuals:
    """Visual shape ids by content for one life of one client's world."""

    def __init__(self, _: EngineSession) -> None:
        self.id_by_content: dict[object, int] = {}
        self.id_by_texture: dict[bytes, int] = {}
        self.mesh_by_id: dict[int, VisualMesh] = {}
        self.files = MeshFiles()


_ListsOfMesh = dict[str, list[list[float]] | list[int]]
_LISTS: dict[bytes, _ListsOfMesh] = {}
"""The same list object again leaks nothing; a fresh one leaks itself at every call (measured)."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShownLink:
    """A link that shows nodes of the file."""

    body_id: int
    link: int
    visual: NodeVisual
    owner: int | None
    """The motion node or animated node that it stands with; ``None``: it stands still."""


def move_links(client_id: int, links: Sequence[ShownLink], matrices: FloatArray) -> None:
    """Put bodies that only show something where they belong.

    Args:
        client_id: The world.
        links: Bases of bodies.
        matrices: Rigid, in the same order, shape [k, 4, 4].
    """
    rotations = quats_from_matrices(matrices[:, :3, :3]).tolist()
    for shown, matrix, rotation in zip(links, matrices, rotations, strict=True):
        pybullet.resetBasePositionAndOrientation(
            shown.body_id, matrix[:3, 3].tolist(), rotation, physicsClientId=client_id
        )


class BodyVisuals:
    """Chooses the visual shape of every link that a scene creates."""

    def __init__(self, session: EngineSession, options: LoadOptions, plans: VisualPlans) -> None:
        self._client_id = session.client_id
        self._dummy = session.shapes.dummy_visual
        self._shows_colliders = options.visuals == "collider"
        self._plans = plans
        self._as_files = options.visual_files
        self._known = session.shared(_EngineVisuals)
        self.shown: list[ShownLink] = []
        """Every link that shows a mesh of the file, in the order of creation."""

    @property
    def needs_finish(self) -> bool:
        """Whether :meth:`finish` has anything to do."""
        return self._shows_colliders or bool(self._plans.bodies)

    def of_body(self, plan: BodyPlan) -> int:
        """The visual shape of a body's own link."""
        if self._shows_colliders:
            if not plan.groups:
                return self._dummy
            return self._of_colliders(plan.groups[0].shapes, COLOR_OF_KIND[plan.kind])
        visual = self._plans.bodies.get(plan.node) if self._plans.bodies else None
        return self._dummy if visual is None else self._of_mesh(visual.mesh)

    def of_group(self, plan: BodyPlan, group: ColliderGroup) -> int:
        """The visual shape of a further collider group of a body."""
        if not self._shows_colliders:
            return self._dummy
        return self._of_colliders(group.shapes, COLOR_OF_KIND[plan.kind])

    def of_static(self, plan: StaticPlan) -> int:
        """The visual shape of a static collider, which stands at the origin of its body."""
        if not self._shows_colliders:
            return self._dummy
        return self._of_colliders((PlacedShape(plan.shape.shape),), STATIC_COLOR)

    def create_scenery(self, created: list[int]) -> None:
        """One body without a collision shape per mesh that no body carries."""
        for visual in self._plans.scenery:
            body_id = pybullet.createMultiBody(
                baseMass=0.0,
                baseVisualShapeIndex=self._of_mesh(visual.mesh),
                basePosition=visual.world_from_mesh.translation,
                baseOrientation=visual.world_from_mesh.rotation_xyzw,
                physicsClientId=self._client_id,
            )
            created.append(body_id)
            self._show(visual, body_id, -1, visual.carrier)

    def finish(self, plan: BodyPlan, links: Iterable[tuple[int, int]]) -> None:
        """Paint a body that exists: what its visual shapes could not say.

        Args:
            plan: The body.
            links: Body id and link index per collider group; the first is the body's own link.
        """
        links = list(links)
        if not self._shows_colliders:
            visual = self._plans.bodies.get(plan.node)
            if visual is not None:
                self._show(visual, *links[0], plan.node)
            return
        for group, (body_id, link) in zip(plan.groups, links, strict=False):
            self._paint(group.shapes, body_id, link, COLOR_OF_KIND[plan.kind])

    def finish_static(self, plan: StaticPlan, body_id: int) -> None:
        """Paint a static collider that exists."""
        if self._shows_colliders:
            self._paint((plan.shape,), body_id, -1, STATIC_COLOR)

    def _paint(
        self, shapes: tuple[PlacedShape, ...], body_id: int, link: int, color: Color
    ) -> None:
        if not all(isinstance(s.shape, (HullPlan, BvhPlan, ConvexPartsPlan)) for s in shapes):
            pybullet.changeVisualShape(
                body_id, link, rgbaColor=color, physicsClientId=self._client_id
            )

    def _show(self, visual: NodeVisual, body_id: int, link: int, owner: int | None) -> None:
        self.shown.append(ShownLink(body_id=body_id, link=link, visual=visual, owner=owner))
        texture = visual.mesh.texture
        if texture is None:
            return
        known = self._known.id_by_texture.get(texture.digest)
        if known is None:
            known = load_texture(self._client_id, texture)
            self._known.id_by_texture[texture.digest] = known
        pybullet.changeVisualShape(
            body_id, link, textureUniqueId=known, physicsClientId=self._client_id
        )

    def close(self) -> None:
        """All bodies exist: remove the files that they were made of."""
        self._known.files.clear()

    def _of_colliders(self, shapes: tuple[PlacedShape, ...], color: Color) -> int:
        """Bullet draws its primitives by itself; meshes are drawn from their triangles."""
        key = (shapes, color)
        known = self._known.id_by_content.get(key)
        if known is None:
            mesh = _mesh_of_collider(shapes, color)
            if self._as_files and isinstance(shapes[0].shape, InfinitePlanePlan):
                # The EGL plugin draws no plane, and crashes where nothing else is to be seen.
                mesh = _sheet(shapes[0], color)
            known = BULLET_SHOWS_IT if mesh is None else self._of_mesh(mesh)
            self._known.id_by_content[key] = known
        return known

    def _of_mesh(self, mesh: VisualMesh) -> int:
        key = (mesh.digest, self._as_files)
        known = self._known.id_by_content.get(key)
        if self._as_files:
            # Read at every creation of a body, so it must be there again.
            path = self._known.files.path(mesh)
            if known is None:
                known = self._create(mesh, fileName=path)
        elif known is None:
            fits = len(mesh.points) <= MAX_VERTICES and mesh.triangles.size <= MAX_INDICES
            known = self._create(mesh, **mesh_arguments(mesh)) if fits else self._dummy
        self._known.id_by_content[key] = known
        self._known.mesh_by_id[known] = mesh
        return known

    def file_of(self, visual_id: int) -> tuple[str, Color] | None:
        """A file with the mesh of a visual shape, and its colour."""
        mesh = self._known.mesh_by_id.get(visual_id)
        if mesh is None or visual_id == self._dummy:
            return None
        path = KEPT_FILES.file(mesh.digest, ".obj", lambda: obj_text(mesh))
        return str(path), mesh.color

    def shows_shape(self, visual_id: int) -> bool:
        """Whether Bullet draws the collision shape for a visual shape."""
        return visual_id == BULLET_SHOWS_IT

    def _create(self, mesh: VisualMesh, **geometry: object) -> int:
        visual_id: int = pybullet.createVisualShape(
            pybullet.GEOM_MESH,
            rgbaColor=mesh.color,
            specularColor=[0.1, 0.1, 0.1],
            physicsClientId=self._client_id,
            **geometry,
        )
        return visual_id if visual_id >= 0 else self._dummy


def _mesh_of_collider(shapes: tuple[PlacedShape, ...], color: Color) -> VisualMesh | None:
    if len(shapes) > 1:
        meshes = [_mesh_of_collider((placed,), color) for placed in shapes]
        known = [mesh for mesh in meshes if mesh is not None]
        if len(known) < len(shapes):
            return None  # Bullet draws the primitives among them, and the hulls too
        starts = np.cumsum([0, *(len(mesh.points) for mesh in known[:-1])])
        return VisualMesh(
            np.concatenate([mesh.points for mesh in known]),
            np.concatenate([mesh.normals for mesh in known]),
            np.concatenate([m.triangles + start for m, start in zip(known, starts, strict=True)]),
            color=color,
        )
    placed = shapes[0]
    shape = placed.shape
    if isinstance(shape, CylinderPlan) and len(shapes) == 1:
        # Bullet itself draws one as a dented ball of 42 points (seen).
        turn = np.linspace(0.0, 2.0 * np.pi, CYLINDER_SIDES, endpoint=False)
        x, z = shape.radius * np.cos(turn), shape.radius * np.sin(turn)
        ends = [np.stack([x, np.full_like(x, y * shape.height), z], axis=1) for y in (-0.5, 0.5)]
        hull = convex_hull(np.concatenate(ends), 2 * CYLINDER_SIDES)
        points, triangles = hull.points, hull.triangles
    elif isinstance(shape, HullPlan):
        hull = convex_hull(shape.vertices.points, len(shape.vertices.points))
        points, triangles = hull.points, hull.triangles
    elif isinstance(shape, BvhPlan):
        # A surface without inside is seen from both sides.
        points = shape.mesh.points
        triangles = np.concatenate([shape.mesh.triangles, shape.mesh.triangles[:, ::-1]])
    elif isinstance(shape, ConvexPartsPlan):
        points, triangles = shape.source.points, shape.source.triangles
    else:
        return None
    matrix = placed.body_from_shape.matrix()
    corners, normals, indices = flat_shaded(points @ matrix[:3, :3].T + matrix[:3, 3], triangles)
    return VisualMesh(corners, normals, indices, color=color)


def _sheet(placed: PlacedShape, color: Color) -> VisualMesh:
    """A large square for a plane, whose normal is +Y."""
    square = np.array([(-1, 0, 1), (1, 0, 1), (1, 0, -1), (-1, 0, -1)], dtype=np.float64)
    matrix = placed.body_from_shape.matrix()
    points = SHEET * square @ matrix[:3, :3].T + matrix[:3, 3]
    triangles = np.array([(0, 1, 2), (0, 2, 3)], dtype=np.int64)
    corners, normals, indices = flat_shaded(points, triangles)
    return VisualMesh(corners, normals, indices, color=color)


def mesh_arguments(mesh: VisualMesh) -> _ListsOfMesh:
    """What ``createVisualShape`` takes, the same lists every time."""
    known = _LISTS.get(mesh.digest)
    if known is None:
        # The v of PyBullet's textures grows upwards in all of its renderers (measured).
        uvs = np.stack([mesh.uvs[:, 0], 1.0 - mesh.uvs[:, 1]], axis=1)
        known = {
            "vertices": mesh.points.tolist(),
            "indices": mesh.triangles.reshape(-1).tolist(),
            "normals": mesh.normals.tolist(),
            "uvs": uvs.tolist(),
        }
        _LISTS[mesh.digest] = known
    return known
