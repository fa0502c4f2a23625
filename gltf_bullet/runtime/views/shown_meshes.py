"""Meshes of a scene and the nodes that move them, for renderers other than PyBullet's.

They are independent of the scene's visuals in PyBullet: training scenes have none there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from gltf_bullet.bounds import DRAWN_TRIGGERS
from gltf_bullet.bullet.rendering.foreign_planes import foreign_planes
from gltf_bullet.bullet.rendering.stand_ins import StandIn, StandIns
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import MotionKind
from gltf_bullet.planning.shapes.shape_plans import InfinitePlanePlan, PlacedShape
from gltf_bullet.rendering.render_meshes import plan_visuals
from gltf_bullet.rendering.solids import COLOR_OF_KIND, STATIC_COLOR, solid
from gltf_bullet.rendering.visual_plans import VisualMesh, VisualPlans
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.transforms import FloatArray, IntArray

Shown = Literal["auto", "mesh", "collider"]
"""``auto``: the file's meshes, and colliders of what has none."""


TRIGGER_ALPHA = 0.3
TRIGGER_COLOR = (0.8, 0.1, 0.8, TRIGGER_ALPHA)


class ShownMesh(Struct, frozen=True, kw_only=True, eq=False):
    """A mesh that moves with a node, or is fixed."""

    label: str
    """Name that is unique in its scene; the node's name if that is."""
    node: int
    """The first glTF node in it."""
    owner: int | None
    """The node whose rigid frame carries it; ``None``: it is fixed."""
    mesh: VisualMesh
    world_from_mesh: FloatArray
    """Pose without an owner, shape [4, 4]."""
    is_endless: bool = False
    """True if it represents an infinite plane."""


def shown_meshes(core: SceneCore, shown: Shown = "auto") -> tuple[ShownMesh, ...]:
    """Return every mesh of a scene in its present plan."""
    if shown == "auto":
        best = core.asset.automatic_visuals
        found = _colliders(core) if best == "collider" else _render_meshes(core)
        if best == "auto":
            seen = {owner for _, owner, *_ in found}
            found += [entry for entry in _bodies(core) if entry[1] not in seen]
            found += _statics(core, core.asset.bare_colliders)
    else:
        found = _colliders(core) if shown == "collider" else _render_meshes(core)
    names = [core.asset.tree.names[node] or f"node {node}" for node, *_ in found]
    counts = Counter(names)
    taken: set[str] = set()
    meshes = []
    for name, (node, owner, mesh, matrix, endless) in zip(names, found, strict=True):
        label = name.replace("/", "_") if counts[name] == 1 else f"{name.replace('/', '_')} {node}"
        while label in taken:
            label += "'"
        taken.add(label)
        meshes.append(
            ShownMesh(
                label=label, node=node, owner=owner, mesh=mesh, world_from_mesh=matrix,
                is_endless=endless,
            )
        )  # fmt: skip
    return tuple(meshes)


_Found = list[tuple[int, int | None, VisualMesh, FloatArray, bool]]


def _render_meshes(core: SceneCore) -> _Found:
    if core.options.visuals in ("mesh", "auto"):
        return [
            (link.visual.nodes[0] if link.owner is None else link.owner, link.owner,
             link.visual.mesh, link.visual.world_from_mesh.matrix(), False)
            for link in core.world.shown
        ]  # fmt: skip
    plans: VisualPlans = plan_visuals(
        core.asset.document,
        core.nodes.frames_now(),
        core.world.plan.motion_node_of,
        core.placement.scene_index,
        core.options,
        Diagnostics(),  # issues about meshes are reported when they are loaded
        core.asset.animations,
    )
    found: _Found = [
        (node, node, visual.mesh, np.eye(4), False) for node, visual in plans.bodies.items()
    ]
    for visual in plans.scenery:
        matrix = visual.world_from_mesh.matrix()
        found.append((visual.nodes[0], visual.carrier, visual.mesh, matrix, False))
    return found


def _colliders(core: SceneCore) -> _Found:
    return _statics(core) + _bodies(core)


def _statics(core: SceneCore, only: Container[int] | None = None) -> _Found:
    """Return static colliders; those of some nodes, or all."""
    plan = core.world.plan.bodies
    frames = core.nodes.frames_now()
    found: _Found = []
    for static in plan.statics:
        if only is not None and static.node not in only:
            continue
        endless = isinstance(static.shape.shape, InfinitePlanePlan)
        mesh = solid([static.shape], COLOR_OF_KIND[static.kind])
        owner = static.node if static.owner >= 0 else None
        found.append((static.node, owner, mesh, frames.pose(static.node).matrix(), endless))
    return found


def _bodies(core: SceneCore) -> _Found:
    """Return the colliders of moving bodies."""
    found: _Found = []
    for body in core.world.plan.bodies.bodies.values():
        shapes: list[PlacedShape] = [shape for group in body.groups for shape in group.shapes]
        if shapes:
            mesh = solid(shapes, COLOR_OF_KIND[body.kind])
            found.append((body.node, body.node, mesh, np.eye(4), False))
    return found


def foreign_floors(core: SceneCore) -> tuple[ShownMesh, ...]:
    """Return the infinite planes of others in the world."""
    planes = foreign_planes(core.client_id, set(core.world.body_ids))
    return tuple(
        ShownMesh(
            label=f"floor {body}",
            node=-1,
            owner=None,
            mesh=solid([PlacedShape(InfinitePlanePlan())], STATIC_COLOR),
            world_from_mesh=matrix,
            is_endless=True,
        )
        for body, matrix in planes.items()
    )


def stand_ins(core: SceneCore) -> StandIns | None:
    """Return colliders for pictures of bodies without a mesh, in a scene that shows meshes."""
    best = core.asset.automatic_visuals
    if core.options.visuals != "mesh" or best == "mesh":
        return None
    plan, world = core.world.plan.bodies, core.world
    frames = core.nodes.frames_now()
    shapes: list[StandIn] = []
    owners: list[int | None] = []
    matrices: list[FloatArray] = []
    bare = core.asset.bare_colliders
    for static in plan.statics:
        if best != "collider" and static.node not in bare:
            continue
        mesh = solid([static.shape], COLOR_OF_KIND[static.kind])
        shapes.append(StandIn(mesh=mesh, link=(world.static_ids[static.node], -1)))
        owners.append(static.node if static.owner >= 0 else None)
        matrices.append(frames.pose(static.node).matrix())
    seen = {shown.owner for shown in world.shown}
    for body in plan.bodies.values():
        if body.node in seen:
            continue
        for link, group in zip(world.links_of(body.node), body.groups, strict=False):
            mesh = solid(group.shapes, COLOR_OF_KIND[body.kind])
            shapes.append(StandIn(mesh=mesh, link=link))
            owners.append(body.node)
            matrices.append(np.eye(4))

    return StandIns(shapes, _places(core, owners, matrices)) if shapes else None


def trigger_meshes(core: SceneCore, most: int | None = None) -> tuple[ShownMesh, ...]:
    """Return the volumes of triggers, transparent; the first ``most`` of them."""
    return tuple(
        ShownMesh(
            label=f"trigger {number} {core.asset.tree.names[volume.trigger]}".replace("/", "_"),
            node=volume.node,
            owner=volume.node,
            mesh=solid([volume.shape], TRIGGER_COLOR),
            world_from_mesh=np.eye(4),
        )
        for number, volume in enumerate(core.world.plan.triggers.volumes[:most])
    )


def trigger_stand_ins(core: SceneCore) -> StandIns | None:
    """Return the volumes of triggers for pictures, as many as are drawn; ``None`` without any."""
    meshes = trigger_meshes(core, DRAWN_TRIGGERS)
    owners = [mesh.owner for mesh in meshes]
    shapes = [StandIn(mesh=mesh.mesh, link=(-1, -1)) for mesh in meshes]
    matrices = [mesh.world_from_mesh for mesh in meshes]
    return StandIns(shapes, _places(core, owners, matrices)) if shapes else None


def _places(
    core: SceneCore, owners: Sequence[int | None], matrices: Sequence[FloatArray]
) -> Callable[[], FloatArray]:
    """Return a function for the poses of meshes that move with nodes, or are fixed."""
    moving = [k for k, owner in enumerate(owners) if owner is not None]
    nodes = [owner for owner in owners if owner is not None]

    def places() -> FloatArray:
        result = np.array(matrices)
        if moving:
            result[moving] = core.nodes.rigid_matrices(nodes, None)
        return result

    return places


def mesh_matrices(
    core: SceneCore, meshes: tuple[ShownMesh, ...], world_from_node: FloatArray | None = None
) -> FloatArray:
    """Return poses of meshes, rigid, shape [len(meshes), 4, 4].

    Args:
        core: Their scene.
        meshes: Meshes of the scene.
        world_from_node: Matrices of all nodes at another time, shape [node_count, 4, 4];
            ``None``: now.
    """
    result = np.array([mesh.world_from_mesh for mesh in meshes]).reshape(-1, 4, 4)
    owners: IntArray = np.array([-1 if m.owner is None else m.owner for m in meshes], dtype=np.intp)
    moving = owners >= 0
    if moving.any():
        result[moving] = core.nodes.rigid_matrices(owners[moving], world_from_node)
    return result


def is_moved(core: SceneCore, owner: int | None) -> bool:
    """Return True if something moves what an owner carries: not a static body, nor nothing."""
    body = None if owner is None else core.world.plan.bodies.bodies.get(owner)
    return owner is not None and (body is None or body.kind is not MotionKind.STATIC)


def mesh_boxes(meshes: tuple[ShownMesh, ...], matrices: FloatArray) -> FloatArray:
    """Return lowest and highest corners of meshes at their poses [m], shape [len(meshes), 2, 3]."""
    bounds = np.array([mesh.mesh.bounds() for mesh in meshes]).reshape(-1, 2, 3)
    middles = np.einsum("kij,kj->ki", matrices[:, :3, :3], bounds.mean(axis=1))
    reaches = np.einsum("kij,kj->ki", np.abs(matrices[:, :3, :3]), 0.5 * np.ptp(bounds, axis=1))
    middles = middles + matrices[:, :3, 3]
    return np.stack([middles - reaches, middles + reaches], axis=1)
