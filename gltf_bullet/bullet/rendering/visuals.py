"""Visual shapes: render meshes, collision shapes in the colour of their kind, or nothing.

Visual shapes and textures are kept per client by content, as collision shapes are. Most bodies get
one shared dummy: a body without any visual makes Bullet tessellate its collision shape (150-220 us
per round body, measured).

A mesh from memory costs 0.5 ms per 1000 vertices and body, as a file twice to five times that
(measured), so files are for clients with the EGL plugin only, which needs them. The file is long
because all kinds of visuals share the ids by content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from weakref import ref

import numpy as np
import pybullet
from msgspec import Struct

from gltf_bullet.bullet.rendering.visual_files import MeshFiles, link_file, load_texture
from gltf_bullet.bullet.session import EngineLink, EngineSession, known_session
from gltf_bullet.bullet.shapes.engine_shapes import MAX_INDICES, MAX_VERTICES
from gltf_bullet.cached_properties import cached_property
from gltf_bullet.disk_cache import cache_folder
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.body_plans import BodyPlan, ColliderGroup, StaticPlan
from gltf_bullet.planning.shapes.shape_plans import (
    BvhPlan,
    CapsulePlan,
    ConvexPartsPlan,
    CylinderPlan,
    HullPlan,
    InfinitePlanePlan,
    PlacedShape,
    SpherePlan,
    placed_at,
)
from gltf_bullet.rendering.solids import COLOR_OF_KIND, DrawnBox, box_of, solid
from gltf_bullet.rendering.visual_plans import Color, NodeVisual, VisualMesh, VisualPlans
from gltf_bullet.transforms import IDENTITY_POSE, FloatArray, Pose, quats_from_matrices

# --- Visual of a link of a named multibody, for its URDF text -------------------------------------


class LinkLook(Struct, frozen=True, kw_only=True):
    """Visual of a link in URDF."""

    file: str = ""
    """Path of an OBJ or STL file; without one the collision shapes are drawn if ``as_colliders``.
    """
    box: DrawnBox | None = None
    """Box in the link frame, instead of a file."""
    color: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    as_colliders: bool = False


NOTHING = LinkLook()


# --- Links of a scene with meshes of its file -----------------------------------------------------


class ShownLink(Struct, frozen=True, eq=False, kw_only=True):
    """A link that shows nodes of the file."""

    body_id: int
    link: int
    visual: NodeVisual
    owner: int | None
    """The motion node or animated node that moves it; ``None``: it is fixed."""


class ShownLinks:
    """The links of one scene with meshes of its file; listed on first use."""

    def __init__(
        self,
        visuals: Mapping[int, NodeVisual],
        link_of: Callable[[int], EngineLink],
        scenery: Sequence[ShownLink],
    ) -> None:
        """Store the visuals.

        Args:
            visuals: Visuals by motion node.
            link_of: Returns the engine link of a motion node's body.
            scenery: Meshes that no body carries.
        """
        self._visuals, self._link_of = visuals, link_of
        self.scenery = tuple(scenery)
        """Meshes that no body carries."""

    @property
    def are_any(self) -> bool:
        """True if some link shows a mesh of the file."""
        return bool(self._visuals or self.scenery)

    @cached_property
    def all(self) -> tuple[ShownLink, ...]:
        """The scenery, and all bodies with meshes."""
        carried = []
        for node, visual in self._visuals.items():
            body, link = self._link_of(node)
            carried.append(ShownLink(body_id=body, link=link, visual=visual, owner=node))
        return (*self.scenery, *carried)

    @cached_property
    def _mesh_of(self) -> dict[EngineLink, VisualMesh]:
        return {(shown.body_id, shown.link): shown.visual.mesh for shown in self.all}

    def mesh_of(self, link: EngineLink) -> VisualMesh | None:
        """Return the mesh of a link of the scene."""
        return self._mesh_of.get(link)


def move_links(client_id: int, links: Sequence[ShownLink], matrices: FloatArray) -> None:
    """Set the poses of bodies that only show something.

    Args:
        client_id: The world.
        links: Bases of bodies.
        matrices: Rigid poses in the same order, shape [k, 4, 4].
    """
    rotations = quats_from_matrices(matrices[:, :3, :3]).tolist()
    for shown, matrix, rotation in zip(links, matrices, rotations, strict=True):
        pybullet.resetBasePositionAndOrientation(
            shown.body_id, matrix[:3, 3].tolist(), rotation, physicsClientId=client_id
        )


BULLET_SHOWS_IT = -1
"""Visual shape id with which Bullet draws the collision shape itself."""


class _EngineVisuals:
    """Visual shape ids by content for one session."""

    def __init__(self, _: EngineSession) -> None:
        self.id_by_content: dict[object, int] = {}
        self.id_by_texture: dict[bytes, int] = {}
        self.files = MeshFiles()
        self.shown_by_body: dict[int, ref[ShownLinks]] = {}
        """Shown links by body id, while their scenes exist; PyBullet does not return meshes."""


_ListsOfMesh = dict[str, list[list[float]] | list[int]]
_LISTS: dict[bytes, _ListsOfMesh] = {}
"""Lists by mesh: passing the same list object again leaks nothing, a new one is leaked (measured).
"""


def shown_mesh(client_id: int, body_id: int, link: int) -> VisualMesh | None:
    """Return the mesh of its file that a link of one of our scenes shows."""
    session = known_session(client_id)
    shown = session and session.shared(_EngineVisuals).shown_by_body.get(body_id)
    links = shown and shown()
    return links.mesh_of((body_id, link)) if links else None


class BodyVisuals:
    """Creates the visual shape of every link of a scene."""

    def __init__(self, session: EngineSession, options: LoadOptions, plans: VisualPlans) -> None:
        self._client_id = session.client_id
        self._dummy = session.shapes.dummy_visual
        self._shows_colliders = options.visuals == "collider"
        self._fills_in = options.visuals == "auto"
        self._plans = plans
        self._as_files = options.visual_files
        self._options = options
        self._known = session.shared(_EngineVisuals)
        self._scenery: list[ShownLink] = []

    @cached_property
    def kept(self) -> Path:
        """Folder of files that are kept for other processes."""
        return cache_folder(self._options.cache_folder)

    def of_body(self, plan: BodyPlan, link_from_body: Pose = IDENTITY_POSE) -> int:
        """Return the visual shape of a body's own link."""
        visual = None
        if not self._shows_colliders:
            visual = self._plans.bodies.get(plan.node) if self._plans.bodies else None
        if visual is not None:
            return self._of_mesh(visual.mesh, link_from_body)
        if plan.groups and (self._shows_colliders or self._fills_in):
            shapes = placed_at(link_from_body, plan.groups[0].shapes)
            return self._of_colliders(shapes, COLOR_OF_KIND[plan.kind])
        return self._dummy

    def of_group(self, plan: BodyPlan, group: ColliderGroup) -> int:
        """Return the visual shape of a further collider group of a body."""
        if not self._shows_colliders and not self._is_filled_in(plan.node):
            return self._dummy
        return self._of_colliders(group.shapes, COLOR_OF_KIND[plan.kind])

    def _is_filled_in(self, node: int) -> bool:
        """Return True if a body shows its colliders because it has no mesh."""
        return self._fills_in and node not in self._plans.bodies

    def of_static(self, plan: StaticPlan) -> int:
        """Return the visual shape of a static collider, at the origin of its body."""
        if not self._shows_colliders and plan.node not in self._plans.bare:
            return self._dummy
        return self._of_colliders((PlacedShape(plan.shape.shape),), COLOR_OF_KIND[plan.kind])

    def create_scenery(self, created: list[int]) -> None:
        """Create one body without a collision shape per mesh that no body carries."""
        for visual in self._plans.scenery:
            body_id = pybullet.createMultiBody(
                baseMass=0.0,
                baseVisualShapeIndex=self._of_mesh(visual.mesh),
                basePosition=visual.world_from_mesh.translation,
                baseOrientation=visual.world_from_mesh.rotation_xyzw,
                physicsClientId=self._client_id,
            )
            created.append(body_id)
            self._scenery.append(
                ShownLink(body_id=body_id, link=-1, visual=visual, owner=visual.carrier)
            )
            self._give_texture(visual, body_id, -1)

    def finish(
        self,
        plans: Mapping[int, BodyPlan],
        link_of: Callable[[int], EngineLink],
        links_of: Callable[[int], Sequence[EngineLink]],
    ) -> ShownLinks:
        """Set colours and textures of the bodies, which visual shapes cannot have.

        Args:
            plans: Plans of all bodies of the scene.
            link_of: Returns a body's own link.
            links_of: Returns the links of a body's collider groups; the first is the body's own.

        Returns:
            The links with meshes of the file, for :meth:`show`.
        """
        filled_in = {node for node in plans if self._is_filled_in(node)}
        if self._shows_colliders or filled_in:
            for node in plans if self._shows_colliders else filled_in:
                plan = plans[node]
                for group, (body_id, link) in zip(plan.groups, links_of(node), strict=False):
                    self._paint(group.shapes, body_id, link, COLOR_OF_KIND[plan.kind])
        if self._shows_colliders:
            return ShownLinks({}, link_of, self._scenery)
        visuals = self._plans.bodies
        if not visuals.keys() <= plans.keys():
            visuals = {node: visuals[node] for node in plans if node in visuals}
        for node in self._plans.textured:
            if node in visuals:
                self._give_texture(visuals[node], *link_of(node))
        return ShownLinks(visuals, link_of, self._scenery)

    def show(self, shown: ShownLinks, body_ids: Iterable[int]) -> Callable[[], None]:
        """Register a scene's links for :func:`shown_mesh`; return a function that removes them."""
        known, own = self._known.shown_by_body, ref(shown)
        bodies = tuple(body_ids)
        known.update(dict.fromkeys(bodies, own))

        def forget() -> None:
            for body in bodies:
                if known.get(body) is own:  # else the id was given out again
                    del known[body]

        return forget

    def finish_static(self, plan: StaticPlan, body_id: int) -> None:
        """Set the colour of the body of a static collider."""
        if self._shows_colliders or plan.node in self._plans.bare:
            self._paint((plan.shape,), body_id, -1, COLOR_OF_KIND[plan.kind])

    def _paint(
        self, shapes: tuple[PlacedShape, ...], body_id: int, link: int, color: Color
    ) -> None:
        if not all(isinstance(s.shape, (HullPlan, BvhPlan, ConvexPartsPlan)) for s in shapes):
            pybullet.changeVisualShape(
                body_id, link, rgbaColor=color, physicsClientId=self._client_id
            )

    def _give_texture(self, visual: NodeVisual, body_id: int, link: int) -> None:
        texture = visual.mesh.texture
        if texture is None:
            return
        known = self._known.id_by_texture.get(texture.digest)
        if known is None:
            known = load_texture(self._client_id, texture, self.kept)
            self._known.id_by_texture[texture.digest] = known
        pybullet.changeVisualShape(
            body_id, link, textureUniqueId=known, physicsClientId=self._client_id
        )

    def close(self) -> None:
        """Remove the mesh files after all bodies were created."""
        self._known.files.clear()

    def _of_colliders(self, shapes: tuple[PlacedShape, ...], color: Color) -> int:
        """Return a visual shape of colliders: Bullet's own for boxes and planes, else a mesh."""
        key = (shapes, color)
        known = self._known.id_by_content.get(key)
        if known is None:
            mesh = _mesh_of_collider(shapes, color)
            if self._as_files and isinstance(shapes[0].shape, InfinitePlanePlan):
                # The EGL plugin draws no plane, and crashes where nothing else is to be seen.
                mesh = solid(shapes[:1], color)
            known = BULLET_SHOWS_IT if mesh is None else self._of_mesh(mesh)
            self._known.id_by_content[key] = known
        return known

    def _of_mesh(self, mesh: VisualMesh, link_from_mesh: Pose = IDENTITY_POSE) -> int:
        if not len(mesh.triangles):
            return self._dummy  # the engine refuses it
        key = (mesh.digest, self._as_files, link_from_mesh)
        known = self._known.id_by_content.get(key)
        if self._as_files:
            # Read at every creation of a body, so it must be there again.
            path = self._known.files.path(mesh)
            if known is None:
                known = self._create(mesh, link_from_mesh, fileName=path)
        elif known is None:
            fits = len(mesh.points) <= MAX_VERTICES and mesh.triangles.size <= MAX_INDICES
            known = self._dummy
            if fits:
                known = self._create(mesh, link_from_mesh, **mesh_arguments(mesh))
        self._known.id_by_content[key] = known
        return known

    def look_of(self, plan: BodyPlan, group: int) -> LinkLook:
        """Return the visual of a collider group of a body for URDF."""
        if self._shows_colliders or self._is_filled_in(plan.node):
            if not plan.groups:
                return NOTHING
            shapes, color = plan.groups[group].shapes, COLOR_OF_KIND[plan.kind]
            mesh = _mesh_of_collider(shapes, color)
            return LinkLook(as_colliders=True) if mesh is None else self._look(mesh)
        visual = self._plans.bodies.get(plan.node) if self._plans.bodies else None
        return NOTHING if visual is None or group else self._look(visual.mesh)

    def _look(self, mesh: VisualMesh) -> LinkLook:
        if not len(mesh.triangles):
            return NOTHING
        box = box_of(mesh)
        if box is not None:
            return LinkLook(box=box, color=mesh.color)
        return LinkLook(file=link_file(mesh, self.kept), color=mesh.color)

    def _create(self, mesh: VisualMesh, link_from_mesh: Pose, **geometry: object) -> int:
        visual_id: int = pybullet.createVisualShape(
            pybullet.GEOM_MESH,
            rgbaColor=mesh.color,
            specularColor=[0.1, 0.1, 0.1],
            visualFramePosition=link_from_mesh.translation,
            visualFrameOrientation=link_from_mesh.rotation_xyzw,
            physicsClientId=self._client_id,
            **geometry,
        )
        return visual_id if visual_id >= 0 else self._dummy


def _mesh_of_collider(shapes: tuple[PlacedShape, ...], color: Color) -> VisualMesh | None:
    """Return triangles where Bullet would draw another shape than the collider."""
    drawn_by_us = (CapsulePlan, SpherePlan, CylinderPlan, HullPlan, ConvexPartsPlan)
    if len(shapes) > 1 and any(isinstance(placed.shape, drawn_by_us) for placed in shapes):
        return solid(shapes, color)
    # Bullet itself draws round shapes as dented balls of 42 points (seen).
    if isinstance(shapes[0].shape, (*drawn_by_us, BvhPlan)):
        return solid(shapes[:1], color)
    return None


def mesh_arguments(mesh: VisualMesh) -> _ListsOfMesh:
    """Return the arguments for ``createVisualShape``, the same list objects every time."""
    known = _LISTS.get(mesh.digest)
    if known is None:
        # The v of PyBullet's textures grows upwards in all of its renderers (measured).
        uvs = np.stack([mesh.uvs[:, 0], 1.0 - mesh.uvs[:, 1]], axis=1)
        known = {
            "vertices": mesh.points.tolist(),
            "indices": mesh.triangles.reshape(-1).tolist(),
            "normals": _rows(mesh.normals),
            "uvs": _rows(uvs),
        }
        _LISTS[mesh.digest] = known
    return known


def _rows(values: FloatArray) -> list[list[float]]:
    """Return ``values`` as lists, where equal successive rows are one list object.

    Corners of a flat triangle share a normal, and a mesh without a texture has one ``uv``: a set of
    93 000 such triangles took 40 MB less and a third of the time.
    """
    starts = np.ones(len(values), dtype=bool)
    starts[1:] = (values[1:] != values[:-1]).any(axis=1)
    rows = values[starts].tolist()
    return [rows[k] for k in (np.cumsum(starts) - 1).tolist()]
