"""Visual shapes: render meshes, collision shapes in the colour of their kind, or nothing.

Visual shapes are kept per client by content, as collision shapes are. Most bodies get one shared
dummy: a body without any visual makes Bullet tessellate its collision shape (150-220 us per round
body, measured).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from weakref import WeakKeyDictionary

import numpy as np
import pybullet

from gltf_bullet.bullet.engine_shapes import MAX_INDICES, MAX_VERTICES, EngineShapes
from gltf_bullet.bullet.hulls import convex_hull
from gltf_bullet.bullet.plan import BodyPlan, ColliderGroup, StaticPlan
from gltf_bullet.bullet.shape_plan import BvhPlan, ConvexPartsPlan, HullPlan, PlacedShape
from gltf_bullet.bullet.visual_plan import Color, VisualMesh, VisualPlans, flat_shaded
from gltf_bullet.model import MotionKind
from gltf_bullet.options import LoadOptions

__all__ = ["BodyVisuals"]

STATIC_COLOR: Color = (0.66, 0.68, 0.71, 1.0)
COLOR_OF_KIND: dict[MotionKind, Color] = {
    MotionKind.DYNAMIC: (0.94, 0.53, 0.18, 1.0),
    MotionKind.KINEMATIC: (0.24, 0.51, 0.86, 1.0),
    MotionKind.STATIC: STATIC_COLOR,
}
"""Of collision shapes in pictures."""

PALETTE_CELL = 8
"""[pixels] side of one colour in a palette texture, so that filtering cannot mix neighbours."""

BULLET_SHOWS_IT = -1


class _EngineVisuals:
    """Visual shape ids by content for one life of one client's world."""

    def __init__(self) -> None:
        self.id_by_content: dict[object, int] = {}
        self.texture_by_palette: dict[tuple[Color, ...], int] = {}


_VISUALS_OF_SHAPES: WeakKeyDictionary[EngineShapes, _EngineVisuals] = WeakKeyDictionary()
"""The shape table of a client is renewed when its world is: both sets of ids live as long."""

_ListsOfMesh = dict[str, list[list[float]] | list[int]]
_LISTS: dict[VisualMesh, _ListsOfMesh] = {}
"""The same list object again leaks nothing; a fresh one leaks itself at every call (measured)."""


class BodyVisuals:
    """Chooses the visual shape of every link that a scene creates."""

    def __init__(
        self, client_id: int, shapes: EngineShapes, options: LoadOptions, plans: VisualPlans
    ) -> None:
        self._client_id = client_id
        self._dummy = shapes.dummy_visual
        self._shows_colliders = options.visuals == "collider"
        self._plans = plans
        self._known = _VISUALS_OF_SHAPES.setdefault(shapes, _EngineVisuals())

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
        mesh = self._plans.bodies.get(plan.node) if self._plans.bodies else None
        return self._dummy if mesh is None else self._of_mesh(mesh)

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
        for mesh in self._plans.scenery:
            body_id = pybullet.createMultiBody(
                baseMass=0.0,
                baseVisualShapeIndex=self._of_mesh(mesh),
                physicsClientId=self._client_id,
            )
            created.append(body_id)
            self._apply_palette(mesh, body_id, -1)

    def finish(self, plan: BodyPlan, links: Iterable[tuple[int, int]]) -> None:
        """Paint a body that exists: what its visual shapes could not say.

        Args:
            plan: The body.
            links: Body id and link index per collider group; the first is the body's own link.
        """
        links = list(links)
        if not self._shows_colliders:
            mesh = self._plans.bodies.get(plan.node)
            if mesh is not None:
                self._apply_palette(mesh, *links[0])
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
        if not isinstance(shapes[0].shape, (HullPlan, BvhPlan, ConvexPartsPlan)):
            pybullet.changeVisualShape(
                body_id, link, rgbaColor=color, physicsClientId=self._client_id
            )

    def _apply_palette(self, mesh: VisualMesh, body_id: int, link: int) -> None:
        if len(mesh.colors) < 2:
            return
        texture = self._known.texture_by_palette.get(mesh.colors)
        if texture is None:
            texture = _load_palette(mesh.colors, self._client_id)
            self._known.texture_by_palette[mesh.colors] = texture
        pybullet.changeVisualShape(
            body_id, link, textureUniqueId=texture, physicsClientId=self._client_id
        )

    def _of_colliders(self, shapes: tuple[PlacedShape, ...], color: Color) -> int:
        """Bullet draws its primitives by itself; meshes are drawn from their triangles."""
        key = (shapes, color)
        known = self._known.id_by_content.get(key)
        if known is None:
            mesh = _mesh_of_collider(shapes[0], color)
            known = BULLET_SHOWS_IT if mesh is None else self._of_mesh(mesh)
            self._known.id_by_content[key] = known
        return known

    def _of_mesh(self, mesh: VisualMesh) -> int:
        known = self._known.id_by_content.get(mesh)
        if known is None:
            known = self._create(mesh)
            self._known.id_by_content[mesh] = known
        return known

    def _create(self, mesh: VisualMesh) -> int:
        if len(mesh.points) > MAX_VERTICES or mesh.triangles.size > MAX_INDICES:
            return self._dummy
        color = mesh.colors[0] if len(mesh.colors) == 1 else (1.0, 1.0, 1.0, 1.0)
        visual_id: int = pybullet.createVisualShape(
            pybullet.GEOM_MESH,
            rgbaColor=color,
            specularColor=[0.1, 0.1, 0.1],
            physicsClientId=self._client_id,
            **_lists(mesh),
        )
        return visual_id if visual_id >= 0 else self._dummy


def _mesh_of_collider(placed: PlacedShape, color: Color) -> VisualMesh | None:
    shape = placed.shape
    if isinstance(shape, HullPlan):
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
    return VisualMesh(corners, normals, indices, (color,), np.zeros(len(corners), dtype=np.int64))


def _lists(mesh: VisualMesh) -> _ListsOfMesh:
    known = _LISTS.get(mesh)
    if known is None:
        u = (mesh.color_of_vertex + 0.5) / len(mesh.colors)
        known = {
            "vertices": mesh.points.tolist(),
            "indices": mesh.triangles.reshape(-1).tolist(),
            "normals": mesh.normals.tolist(),
            "uvs": np.stack([u, np.full(len(u), 0.5)], axis=1).tolist(),
        }
        _LISTS[mesh] = known
    return known


def _load_palette(colors: tuple[Color, ...], client_id: int) -> int:
    """A texture with one cell per colour: a body has one visual, its parts several colours."""
    from PIL import Image  # few scenes need it

    row = np.array([[round(255.0 * channel) for channel in color[:3]] for color in colors])
    cells = row.astype(np.uint8).repeat(PALETTE_CELL, axis=0)
    pixels = np.broadcast_to(cells, (PALETTE_CELL, *cells.shape))
    # A fresh name each time: file contents are cached by path for the life of the client.
    handle, path = tempfile.mkstemp(prefix="gltf_bullet_", suffix=".png")
    os.close(handle)
    try:
        Image.fromarray(np.ascontiguousarray(pixels)).save(path)
        texture: int = pybullet.loadTexture(path, physicsClientId=client_id)
    finally:
        os.unlink(path)
    return texture
