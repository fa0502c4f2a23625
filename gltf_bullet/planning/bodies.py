"""Body plans from motions and colliders: ownership, mass properties, collider groups.

Implements "Motions" and the compound rule of "Colliders" of KHR_physics_rigid_bodies. Pure: every
default and approximation is decided here, before the engine is touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gltf_bullet import model
from gltf_bullet.diagnostics import Diagnostics, note
from gltf_bullet.model.mass_properties import Moments
from gltf_bullet.planning.body_plans import BodyPlan, StaticPlan
from gltf_bullet.planning.mass_planner import (
    MassPlanner,
    PlacedCollider,
    about_own_shape,
    largest_mass,
    report_mass_ratios,
)
from gltf_bullet.planning.shapes.planner import PlannedShape, ShapePlanner
from gltf_bullet.planning.shapes.shape_plans import PlacedShape
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import IntArray, Pose, Vec3, matrices_from_quats

# --- Moved copies of planned bodies, each made on first access ------------------------------------


class MovedBodies(Mapping[int, BodyPlan]):
    """Body plans by motion node, moved by an offset; each plan is made on first access.

    A copy of a jointed asset asks for few of them: links follow the pose of their base.
    """

    def __init__(self, unmoved: Mapping[int, BodyPlan], offset: Vec3) -> None:
        self.unmoved = unmoved
        self._offset = offset
        self._moved: dict[int, BodyPlan] = {}

    def __getitem__(self, node: int) -> BodyPlan:
        found = self._moved.get(node)
        if found is None:
            plan = self.unmoved[node]
            found = self._moved[node] = plan.at(plan.world_from_body.moved(self._offset))
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self.unmoved)

    def __len__(self) -> int:
        return len(self.unmoved)

    def __contains__(self, node: object) -> bool:
        return node in self.unmoved


# --- Plans of all bodies of a scene ---------------------------------------------------------------

ANIMATED_COLLIDER_APART = note(
    "ANIMATED_COLLIDER_APART",
    "an animation moves the collider within the kinematic body of node {body}: it is an engine "
    "body of its own, which goes where the two together bring it",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class BodyPlans:
    """All bodies of a scene."""

    bodies: Mapping[int, BodyPlan]
    """By motion node, in file order."""
    statics: tuple[StaticPlan, ...]
    """Colliders without a motion above them, and those that animations move within kinematic
    bodies, in file order."""

    @property
    def anywhere(self) -> Mapping[int, BodyPlan]:
        """The body plans without the offset of a copy: equal in all copies but for their poses."""
        return self.bodies.unmoved if isinstance(self.bodies, MovedBodies) else self.bodies


def plan_bodies(
    physics: model.PhysicsScene,
    *,
    motion_node_of: IntArray,
    moving_inside: Collection[int] = (),
    frames: NodeFrames,
    shapes: ShapePlanner,
    density: float,
    diagnostics: Diagnostics,
) -> BodyPlans:
    """Plan every body of ``physics``.

    Args:
        physics: The model; only nodes in it are looked at.
        motion_node_of: Nearest motion node per node, -1 without one, shape [node_count].
        moving_inside: Nodes that an animation moves relative to the body that they belong to.
        frames: Global transforms at load.
        shapes: Plans the single shapes.
        density: [kg/m^3] where the file leaves the mass to the engine.
        diagnostics: Receives the findings.
    """
    linear_maps = frames.linear_maps()
    owned: dict[int, list[PlacedCollider]] = {node: [] for node in physics.motions}
    statics: list[StaticPlan] = []
    concave = _concave_colliders(physics, motion_node_of, shapes)
    placer = _Placer(physics, motion_node_of, frames)
    for node, collider in physics.colliders.items():
        owner = int(motion_node_of[node])
        motion = physics.motions.get(owner)
        planned = shapes.plan(
            collider.shape,
            linear_maps[node],
            moving=_moves(physics, owner),
            bvh_allowed=not any(
                other_owner != owner and model.may_collide(collider.filter, other.filter)
                for other, other_owner in concave
            ),
            at=collider.pointer,
        )
        if planned is None:
            continue
        if motion is not None:
            owned[owner].append(placer.place(collider, planned))
            if motion.kind is model.MotionKind.DYNAMIC or node not in moving_inside:
                continue
            diagnostics.report(ANIMATED_COLLIDER_APART, collider.pointer, body=owner)
        statics.append(
            StaticPlan(
                node=node,
                owner=owner,
                world_from_collider=frames.pose(node),
                shape=planned.placed,
                material=collider.material or model.DEFAULT_MATERIAL,
                filter=collider.filter,
                # A collider within a body is made anew with it, as a body's own colliders are.
                deforms=owner < 0
                and isinstance(collider.shape, model.MeshShape)
                and collider.shape.is_deformable,
            )
        )
    apart = {static.node for static in statics if static.owner >= 0}
    planner = MassPlanner(density, largest_mass(physics), diagnostics)
    ends = {end for j in physics.joints.values() for end in (j.node, j.connected_node)}
    jointed = {int(motion_node_of[end]) for end in ends if end is not None}
    bodies = {}
    for node, motion in physics.motions.items():
        plan = planner.plan(node, motion, owned[node], frames.pose(node), linear_maps[node], apart)
        if node not in jointed:  # links keep the frames that PyBullet's users know
            plan = about_own_shape(plan, is_stated=motion.inertia_diagonal is not None)
        bodies[node] = plan
    report_mass_ratios(bodies, physics, diagnostics)
    return BodyPlans(bodies=bodies, statics=tuple(statics))


class _Placer:
    """Moves shapes from their collider's frame into the frame of the body that owns them."""

    def __init__(
        self, physics: model.PhysicsScene, motion_node_of: IntArray, frames: NodeFrames
    ) -> None:
        nodes = np.array([n for n in physics.colliders if motion_node_of[n] >= 0], dtype=np.intp)
        positions, rotations = frames.relative_poses(motion_node_of[nodes], nodes)
        # Rounded far below a nanometre, so that equal offsets are equal keys.
        self._pose_of = dict(
            zip(
                nodes.tolist(),
                zip(
                    np.round(positions, 12).tolist(),
                    np.round(rotations, 12).tolist(),
                    strict=True,
                ),
                strict=True,
            )
        )
        self._placed: dict[object, tuple[PlacedShape, Moments]] = {}

    def place(self, collider: model.Collider, planned: PlannedShape) -> PlacedCollider:
        position, rotation = self._pose_of[collider.node]
        key = (id(planned), *position, *rotation)
        if key not in self._placed:
            body_from_collider = Pose(tuple(rotation), tuple(position))
            linear = matrices_from_quats(np.array(rotation))
            self._placed[key] = (
                PlacedShape(
                    planned.placed.shape, body_from_collider @ planned.placed.body_from_shape
                ),
                planned.moments.mapped(linear, np.array(position)),
            )
        return PlacedCollider(collider, *self._placed[key])


def _moves(physics: model.PhysicsScene, owner: int) -> bool:
    motion = physics.motions.get(owner)
    return motion is not None and motion.kind is not model.MotionKind.STATIC


def _concave_colliders(
    physics: model.PhysicsScene, motion_node_of: IntArray, shapes: ShapePlanner
) -> list[tuple[model.Collider, int]]:
    """Colliders that a moving triangle mesh would fall through, with their owners."""
    result = []
    for node, collider in physics.colliders.items():
        owner = int(motion_node_of[node])
        if shapes.is_concave(collider.shape, moving=_moves(physics, owner)):
            result.append((collider, owner))
    return result
