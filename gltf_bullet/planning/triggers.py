"""Trigger volumes and the colliders that they may sense, decided without the engine.

KHR_physics_rigid_bodies, "Triggers"; DESIGN section 4. A trigger is a volume: Bullet's triangle
meshes have no inside, so concave trigger meshes become convex parts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec import Struct

from gltf_bullet import model
from gltf_bullet.diagnostics import Diagnostics, JsonPointer, note, warning
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.planning.shapes.concave_meshes import CONCAVE_AS_HULL, CONCAVE_DECOMPOSED
from gltf_bullet.planning.shapes.decomposition import Decomposer
from gltf_bullet.planning.shapes.hulls import box_of_hull, convex_hull
from gltf_bullet.planning.shapes.planner import (
    INFINITE_EXTENT,
    MESH_OPEN,
    MeshOf,
    ShapePlanner,
)
from gltf_bullet.planning.shapes.shape_plans import BoxPlan, HullPlan, PlacedShape, PointSet
from gltf_bullet.records import replace
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import FloatArray, IntArray

TRIGGER_DECOMPOSED = warning(
    "TRIGGER_DECOMPOSED",
    "a concave trigger mesh senses as {parts} convex parts of {ratio:.3g} times its volume",
)
TRIGGER_AS_HULL = warning(
    "TRIGGER_AS_HULL",
    "a concave trigger mesh senses as its convex hull, {ratio:.3g} times its volume",
)
TRIGGER_PLANE = note("TRIGGER_PLANE", "a plane has no volume; this trigger senses {what}")

SHEET_THICKNESS = 1e-3
"""Thickness [m] of the sheet in which a plane with an edge or two sides senses."""


class TriggerVolume(Struct, frozen=True, eq=False, kw_only=True):
    """One convex or decomposed shape of a trigger."""

    trigger: int
    """The glTF node that reports: for compounds the one with ``nodes``."""
    node: int
    """The glTF node that carries the shape."""
    owner: int
    """Motion node at or above ``node``, -1 without one."""
    shape: PlacedShape
    """In the frame of ``node`` without its scale."""
    own_bodies: frozenset[int]
    """Motion nodes whose colliders are never sensed."""
    filter: model.CollisionFilter | None
    rests: bool = False
    """True if nothing moves it; it then senses no collider that rests."""

    def admits(self, collider: SensedCollider) -> bool:
        """Return True if its filter and rest let it report a collider."""
        return model.may_collide(self.filter, collider.filter) and not (
            self.rests and collider.rests
        )


class SensedCollider(Struct, frozen=True, eq=False, kw_only=True):
    """A collider that some trigger may report."""

    node: int
    owner: int
    """Motion node of its body, -1 for static colliders."""
    frame_node: int
    """Node whose frame the shape is in: the body's, or ``node`` if the collider moves otherwise
    than a body."""
    shape: PlacedShape
    """In the frame of ``frame_node`` without its scale."""
    filter: model.CollisionFilter | None
    rests: bool = False
    """True if nothing moves it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TriggerPlans:
    """All triggers of a scene and the colliders that they may sense."""

    volumes_by_node: Mapping[int, tuple[TriggerVolume, ...]]
    """For every trigger node, parts of compounds and compounds alike."""
    nodes: tuple[int, ...]
    """Nodes that report, in file order; a part reports as its compound only."""
    colliders: tuple[SensedCollider, ...]
    """In file order."""

    @cached_property
    def volumes(self) -> tuple[TriggerVolume, ...]:
        """Volumes of the nodes that report."""
        return tuple(v for node in self.nodes for v in self.volumes_by_node[node])


def plan_triggers(
    physics: model.PhysicsScene,
    *,
    bodies: BodyPlans,
    motion_node_of: IntArray,
    frames: NodeFrames,
    mesh_of: MeshOf,
    options: LoadOptions,
    moving_nodes: Collection[int] = (),
    diagnostics: Diagnostics,
    decomposer: Decomposer | None = None,
) -> TriggerPlans:
    """Plan all triggers of a scene.

    Args:
        physics: The model.
        bodies: The planned bodies, before materials split their colliders.
        motion_node_of: Nearest motion node per node, -1 without one, shape [node_count].
        frames: Global transforms at load.
        mesh_of: Gives the triangles of mesh shapes.
        options: Choices that the file cannot make.
        moving_nodes: Nodes that animation moves.
        diagnostics: Receives the findings.
        decomposer: The decomposer of the scene.
    """
    if not physics.triggers:
        return TriggerPlans(volumes_by_node={}, nodes=(), colliders=())
    shapes = _VolumePlanner(mesh_of, options, diagnostics, decomposer)
    linear_maps = frames.linear_maps()
    moving = set(moving_nodes)
    placed = {
        node: shapes.plan(trigger.shape, linear_maps[node], trigger.pointer)
        for node, trigger in physics.triggers.items()
        if trigger.shape is not None
    }
    volumes = {}
    for node in physics.triggers:
        volumes[node] = tuple(
            TriggerVolume(
                trigger=node,
                node=part,
                owner=int(motion_node_of[part]),
                shape=shape,
                own_bodies=frozenset({int(motion_node_of[part]), int(motion_node_of[node])} - {-1}),
                filter=physics.triggers[part].filter,
                rests=part not in moving and _rests(bodies, int(motion_node_of[part]), moving),
            )
            for part in _leaves(node, physics.triggers)
            if (shape := placed.get(part)) is not None
        )
    grouped = {part for trigger in physics.triggers.values() for part in trigger.part_nodes}
    plans = TriggerPlans(
        volumes_by_node=volumes,
        nodes=tuple(node for node in physics.triggers if node not in grouped),
        colliders=_sensed(bodies, moving),
    )
    return replace(plans, colliders=_admitted(plans))


def _leaves(node: int, triggers: Mapping[int, model.Trigger]) -> tuple[int, ...]:
    """The nodes with shapes that make up a trigger; compounds may hold compounds."""
    found: dict[int, None] = {}
    visited: set[int] = set()
    pending = [node]
    while pending:
        current = pending.pop(0)
        if current in visited or current not in triggers:
            continue
        visited.add(current)
        if triggers[current].shape is not None:
            found[current] = None
        pending.extend(triggers[current].part_nodes)
    return tuple(found)


def _rests(bodies: BodyPlans, owner: int, moving_nodes: set[int]) -> bool:
    """Return True if the body of a motion node, -1 for none, cannot move."""
    body = bodies.bodies.get(owner)
    return body is None or (body.kind is model.MotionKind.STATIC and owner not in moving_nodes)


def _sensed(bodies: BodyPlans, moving_nodes: set[int]) -> tuple[SensedCollider, ...]:
    """All colliders."""
    found = {
        static.node: SensedCollider(
            node=static.node,
            owner=static.owner,
            frame_node=static.node,
            shape=static.shape,
            filter=static.filter,
            rests=static.node not in moving_nodes,
        )
        for static in bodies.statics
    }
    for owner, body in bodies.bodies.items():
        rests = _rests(bodies, owner, moving_nodes)
        for group in body.groups:
            for node, shape in zip(group.collider_nodes, group.shapes, strict=True):
                found[node] = SensedCollider(
                    node=node, owner=owner, frame_node=owner, shape=shape, filter=group.filter,
                    rests=rests,
                )  # fmt: skip
    return tuple(found[node] for node in sorted(found))


def _admitted(plans: TriggerPlans) -> tuple[SensedCollider, ...]:
    """The colliders that at least one volume admits."""
    volumes = {(volume.filter, volume.rests): volume for volume in plans.volumes}.values()
    colliders = {(collider.filter, collider.rests): collider for collider in plans.colliders}
    admits = {
        key: any(volume.admits(collider) for volume in volumes)
        for key, collider in colliders.items()
    }
    return tuple(c for c in plans.colliders if admits[c.filter, c.rests])


class _VolumePlanner:
    """Plans shapes as volumes, with findings in the words of triggers."""

    def __init__(
        self,
        mesh_of: MeshOf,
        options: LoadOptions,
        diagnostics: Diagnostics,
        decomposer: Decomposer | None,
    ) -> None:
        if options.concave == "bvh":
            options = replace(options, concave="decompose")
        self._found = Diagnostics()
        self._shapes = ShapePlanner(mesh_of, options, self._found, decomposer)
        self._diagnostics = diagnostics

    def plan(self, shape: model.Shape, linear: FloatArray, at: JsonPointer) -> PlacedShape | None:
        """The volume in the frame of its node without scale; ``None`` when there is none."""
        normal = np.cross(linear[:, 2], linear[:, 0])
        if isinstance(shape, model.Plane) and normal.any():
            # A plane has no height that a scale could change or take away; negative scale counts
            # by its absolute value (KHR_implicit_shapes), so no scale turns it over.
            upright = linear.copy()
            upright[:, 1] = np.copysign(1.0, normal[1]) * normal / np.linalg.norm(normal)
            return self._plan_plane(shape, upright, at)
        planned = self._shapes.plan(shape, linear, moving=True, bvh_allowed=False, at=at)
        while len(self._found):
            issue = self._found.take()
            if issue.kind is CONCAVE_DECOMPOSED:
                self._diagnostics.report(TRIGGER_DECOMPOSED, issue.pointer, **issue.values)
            elif issue.kind is CONCAVE_AS_HULL:
                self._diagnostics.report(TRIGGER_AS_HULL, issue.pointer, **issue.values)
            elif issue.kind is not MESH_OPEN:
                self._diagnostics.extend([issue])
        return None if planned is None else planned.placed

    def _plan_plane(
        self, shape: model.Plane, linear: FloatArray, at: JsonPointer
    ) -> PlacedShape | None:
        unbounded = math.isinf(shape.size_x) and math.isinf(shape.size_z)
        if unbounded and not shape.double_sided:
            self._diagnostics.report(TRIGGER_PLANE, at, what="everything below the plane")
            planned = self._shapes.plan(shape, linear, moving=False, bvh_allowed=False, at=at)
            return None if planned is None else planned.placed
        half_x = 0.5 * shape.size_x if math.isfinite(shape.size_x) else INFINITE_EXTENT
        half_z = 0.5 * shape.size_z if math.isfinite(shape.size_z) else INFINITE_EXTENT
        corners = np.array([[sx * half_x, 0.0, sz * half_z] for sx in (-1, 1) for sz in (-1, 1)])
        corners = corners @ linear.T
        normal = np.linalg.inv(linear)[1]
        offset = normal / np.linalg.norm(normal) * (0.5 * SHEET_THICKNESS)
        hull = convex_hull(np.concatenate([corners + offset, corners - offset]), 8)
        what = f"in a sheet of {SHEET_THICKNESS:g} m"
        if math.isinf(shape.size_x) or math.isinf(shape.size_z):
            what += f" that ends {INFINITE_EXTENT:g} m from its origin"
        self._diagnostics.report(TRIGGER_PLANE, at, what=what)
        box = box_of_hull(hull)
        if box is not None:
            return PlacedShape(BoxPlan(box[0]), box[1])
        return PlacedShape(HullPlan(PointSet(hull.points)))
