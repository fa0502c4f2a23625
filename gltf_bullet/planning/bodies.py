"""From motions and colliders to body plans: ownership, mass properties, collider groups.

Implements "Motions" and the compound rule of "Colliders" of KHR_physics_rigid_bodies. Pure: every
default and approximation is decided here, before the engine is touched.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gltf_bullet.diagnostics import Diagnostics, IssueKind, Severity
from gltf_bullet.model import (
    DEFAULT_MATERIAL,
    Collider,
    Motion,
    MotionKind,
    PhysicsScene,
    may_collide,
)
from gltf_bullet.model.mass_properties import Moments, principal_inertia
from gltf_bullet.planning.body_plans import VELOCITY_CLAMP, BodyPlan, ColliderGroup, StaticPlan
from gltf_bullet.planning.shapes.planner import PlannedShape, ShapePlanner
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    CapsulePlan,
    CylinderPlan,
    PlacedShape,
    SpherePlan,
)
from gltf_bullet.scene import NodeFrames
from gltf_bullet.transforms import (
    FloatArray,
    IntArray,
    Pose,
    Vec3,
    matrices_from_quats,
    quats_from_matrices,
)

__all__ = ["BodyPlans", "plan_bodies"]

MASS_UNDEFINED = IssueKind(
    "MASS_UNDEFINED",
    Severity.WARNING,
    "the body has neither mass nor shapes with a volume; mass 1 kg is used",
)
INERTIA_UNDEFINED = IssueKind(
    "INERTIA_UNDEFINED",
    Severity.WARNING,
    "the body has neither inertia nor shapes with a volume; that of a ball of radius 0.5 m is used",
)
INFINITE_AS_LARGE = IssueKind(
    "INFINITE_AS_LARGE",
    Severity.INFO,
    "infinite {what} stands as {value:.3g}, {factor:.0e} times the largest finite one around",
)
INERTIA_IMPOSSIBLE = IssueKind(
    "INERTIA_IMPOSSIBLE",
    Severity.WARNING,
    "the principal moments {a:.3g}, {b:.3g}, {c:.3g} kg m^2 belong to no body: the largest is "
    "{excess:.3g} times the sum of the others; they are used as they are",
)
MASS_RATIO_EXTREME = IssueKind(
    "MASS_RATIO_EXTREME",
    Severity.WARNING,
    "the mass of {mass:.3g} kg is {ratio:.1e} times the median of the scene's bodies, {median:.3g} "
    "kg; contacts and joints between such bodies are not solved reliably",
)
VELOCITY_LIMITED = IssueKind(
    "VELOCITY_LIMITED",
    Severity.WARNING,
    "a speed of {got:.3g} {unit} is more than the engine keeps; {allowed:.0e} {unit} is used",
)

EXTREME_RATIO = 1e6
"""Of masses. The engine's iterations lose a light body beneath a heavy one from about 1e3 on."""

COMPOUND_LIMIT = 16
"""Children of one compound shape; Bullet drops more without a word."""
INFINITE_FACTOR = 1e9
"""An infinite mass or moment is this many times the largest finite one: a zero in its place
would stop all rotation (measured)."""
DEFAULT_RADIUS = 0.5
"""[m] of the ball whose inertia a body without any shape gets."""

_COMPOUNDABLE = (BoxPlan, SpherePlan, CapsulePlan, CylinderPlan)
"""Kinds that createCollisionShapeArray takes; in-memory meshes are not among them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BodyPlans:
    """All bodies of a scene."""

    bodies: dict[int, BodyPlan]
    """By motion node, in file order."""
    statics: tuple[StaticPlan, ...]
    """Colliders without a motion above them, in file order."""


@dataclass(frozen=True, slots=True, eq=False)
class _PlacedCollider:
    collider: Collider
    shape: PlacedShape
    """In the body's frame."""
    moments: Moments
    """In the body's frame, density 1."""


def plan_bodies(
    physics: PhysicsScene,
    *,
    motion_node_of: IntArray,
    frames: NodeFrames,
    shapes: ShapePlanner,
    density: float,
    diagnostics: Diagnostics,
) -> BodyPlans:
    """Plan every body of ``physics``.

    Args:
        physics: The model; only nodes in it are looked at.
        motion_node_of: Nearest motion node per node, -1 without one, shape [node_count].
        frames: Global transforms at load.
        shapes: Plans the single shapes.
        density: [kg/m^3] where the file leaves the mass to the engine.
        diagnostics: Receives the findings.
    """
    linear_maps = frames.linear_maps()
    owned: dict[int, list[_PlacedCollider]] = {node: [] for node in physics.motions}
    statics: list[StaticPlan] = []
    concave = _concave_colliders(physics, motion_node_of, shapes)
    placer = _Placer(physics, motion_node_of, frames)
    for node, collider in physics.colliders.items():
        owner = int(motion_node_of[node])
        motion = physics.motions.get(owner)
        planned = shapes.plan(
            collider.shape,
            linear_maps[node],
            moving=motion is not None and motion.kind is not MotionKind.STATIC,
            bvh_allowed=not any(
                other_owner != owner and may_collide(collider.filter, other.filter)
                for other, other_owner in concave
            ),
            at=collider.pointer,
        )
        if planned is None:
            continue
        if motion is not None:
            owned[owner].append(placer.place(collider, planned))
            continue
        statics.append(
            StaticPlan(
                node=node,
                world_from_collider=frames.pose(node),
                shape=planned.placed,
                material=collider.material or DEFAULT_MATERIAL,
                filter=collider.filter,
            )
        )
    planner = _MassPlanner(density, _largest_mass(physics), diagnostics)
    bodies = {
        node: planner.plan(node, motion, owned[node], frames.pose(node), linear_maps[node])
        for node, motion in physics.motions.items()
    }
    _report_ratios(bodies, physics, diagnostics)
    return BodyPlans(bodies=bodies, statics=tuple(statics))


def _report_ratios(
    bodies: dict[int, BodyPlan], physics: PhysicsScene, diagnostics: Diagnostics
) -> None:
    """Masses that are lost beside the others of the scene; infinite ones are meant."""
    masses = {
        node: plan.mass
        for node, plan in bodies.items()
        if plan.mass > 0.0 and physics.motions[node].mass != math.inf
    }
    if len(masses) < 2:
        return
    median = float(np.median(list(masses.values())))
    for node, mass in masses.items():
        if not 1.0 / EXTREME_RATIO < mass / median < EXTREME_RATIO:
            diagnostics.report(
                MASS_RATIO_EXTREME, physics.motions[node].pointer,
                mass=mass, ratio=mass / median, median=median,
            )  # fmt: skip


class _Placer:
    """Moves shapes from their collider's frame into the frame of the body that owns them."""

    def __init__(self, physics: PhysicsScene, motion_node_of: IntArray, frames: NodeFrames) -> None:
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

    def place(self, collider: Collider, planned: PlannedShape) -> _PlacedCollider:
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
        return _PlacedCollider(collider, *self._placed[key])


def _concave_colliders(
    physics: PhysicsScene, motion_node_of: IntArray, shapes: ShapePlanner
) -> list[tuple[Collider, int]]:
    """Colliders that a moving triangle mesh would fall through, with their owners."""
    result = []
    for node, collider in physics.colliders.items():
        owner = int(motion_node_of[node])
        motion = physics.motions.get(owner)
        moving = motion is not None and motion.kind is not MotionKind.STATIC
        if shapes.is_concave(collider.shape, moving=moving):
            result.append((collider, owner))
    return result


def _largest_mass(physics: PhysicsScene) -> float:
    stated = (m.mass for m in physics.motions.values())
    return max((m for m in stated if m is not None and math.isfinite(m)), default=1.0)


class _MassPlanner:
    """Turns motions and their colliders into body plans; equal ones are computed once."""

    def __init__(self, density: float, largest_mass: float, diagnostics: Diagnostics) -> None:
        self._density = density
        self._largest_mass = largest_mass
        self._diagnostics = diagnostics
        self._derived: dict[object, tuple[float, Vec3, Pose]] = {}

    def plan(
        self,
        node: int,
        motion: Motion,
        colliders: list[_PlacedCollider],
        world_from_body: Pose,
        linear_map: FloatArray,
    ) -> BodyPlan:
        # Bodies of one kind come by the thousand: same motion, same shapes, same scale.
        key = (
            motion.kind, motion.mass, motion.center_of_mass, motion.inertia_diagonal,
            motion.inertia_orientation_xyzw, linear_map.tobytes(),
            tuple((id(c.moments), c.shape) for c in colliders),
        )  # fmt: skip
        if key not in self._derived:
            self._derived[key] = self._mass_properties(motion, colliders, linear_map)
        mass, inertia, body_from_inertial = self._derived[key]
        fixed = motion.kind is MotionKind.STATIC
        linear = self._limited(motion.linear_velocity, motion, "linearVelocity", "m/s")
        angular = self._limited(motion.angular_velocity, motion, "angularVelocity", "rad/s")
        return BodyPlan(
            node=node,
            kind=motion.kind,
            world_from_body=world_from_body,
            mass=mass,
            inertia_diagonal=inertia,
            body_from_inertial=body_from_inertial,
            linear_velocity=(0.0, 0.0, 0.0) if fixed else world_from_body.rotate(linear),
            angular_velocity=(0.0, 0.0, 0.0) if fixed else world_from_body.rotate(angular),
            gravity_factor=motion.gravity_factor,
            groups=_group(colliders),
        )

    def _limited(self, velocity: Vec3, motion: Motion, key: str, unit: str) -> Vec3:
        speed = math.hypot(*velocity)
        if speed <= VELOCITY_CLAMP:
            return velocity
        self._diagnostics.report(
            VELOCITY_LIMITED, motion.pointer / key, got=speed, unit=unit, allowed=VELOCITY_CLAMP
        )
        largest = max(map(abs, velocity))  # the length itself may overflow
        x, y, z = (v / largest for v in velocity)
        share = VELOCITY_CLAMP / math.hypot(x, y, z)
        return (x * share, y * share, z * share)

    def _mass_properties(
        self, motion: Motion, colliders: list[_PlacedCollider], linear_map: FloatArray
    ) -> tuple[float, Vec3, Pose]:
        """Mass, principal moments and body_from_inertial."""
        total = Moments.zero()
        for placed in colliders:
            total = total + placed.moments
        if motion.center_of_mass is not None:
            # Lengths in node space are scaled by the node's global scale.
            center = linear_map @ np.array(motion.center_of_mass)
        else:
            center = total.center
        com: Vec3 = tuple(center.tolist())
        if motion.kind is not MotionKind.DYNAMIC:
            return 0.0, (0.0, 0.0, 0.0), Pose.from_translation(com)
        mass = self._mass(motion, total)
        diagonal, orientation = self._inertia(motion, total, mass)
        if orientation is None:
            return mass, diagonal, Pose.from_translation(com)
        x, y, z, w = quats_from_matrices(orientation).tolist()
        return mass, diagonal, Pose((x, y, z, w), com)

    def _mass(self, motion: Motion, total: Moments) -> float:
        if motion.mass is None:
            if total.volume > 0.0:
                return self._density * total.volume
            self._diagnostics.report(MASS_UNDEFINED, motion.pointer)
            return 1.0
        if math.isfinite(motion.mass):
            return motion.mass
        value = INFINITE_FACTOR * self._largest_mass
        self._diagnostics.report(
            INFINITE_AS_LARGE, motion.pointer / "mass",
            what="mass", value=value, factor=INFINITE_FACTOR,
        )  # fmt: skip
        return value

    def _inertia(
        self, motion: Motion, total: Moments, mass: float
    ) -> tuple[Vec3, FloatArray | None]:
        """Principal moments and the rotation from principal to body axes."""
        if motion.inertia_diagonal is None:
            if total.volume > 0.0:
                # About the geometry's own centre also where the file moves the centre of mass:
                # the text leaves open whether the tensor moves with it.
                tensor = total.inertia_about(total.center) * (mass / total.volume)
                principal = principal_inertia(tensor)
                return principal.diagonal, principal.orientation
            self._diagnostics.report(INERTIA_UNDEFINED, motion.pointer)
            ball = 0.4 * mass * DEFAULT_RADIUS**2
            return (ball, ball, ball), None
        orientation = None
        if motion.inertia_orientation_xyzw != (0.0, 0.0, 0.0, 1.0):
            orientation = matrices_from_quats(np.array(motion.inertia_orientation_xyzw))
        finite = [moment for moment in motion.inertia_diagonal if math.isfinite(moment)]
        if len(finite) == 3:
            largest = max(finite)
            rest = sum(finite) - largest
            if largest > (1.0 + 1e-3) * rest:
                a, b, c = finite
                self._diagnostics.report(
                    INERTIA_IMPOSSIBLE, motion.pointer / "inertiaDiagonal",
                    a=a, b=b, c=c, excess=largest / rest,
                )  # fmt: skip
            return motion.inertia_diagonal, orientation
        extent = float(np.ptp(np.diag(total.second))) if total.volume > 0.0 else 0.0
        scale = max([*finite, mass * DEFAULT_RADIUS**2, extent])
        large = INFINITE_FACTOR * scale
        self._diagnostics.report(
            INFINITE_AS_LARGE, motion.pointer / "inertiaDiagonal",
            what="inertia", value=large, factor=INFINITE_FACTOR,
        )  # fmt: skip
        a, b, c = (m if math.isfinite(m) else large for m in motion.inertia_diagonal)
        return (a, b, c), orientation


def _group(colliders: Iterable[_PlacedCollider]) -> tuple[ColliderGroup, ...]:
    """Colliders that may share a link: same material, same filter, kinds that make a compound."""
    open_groups: dict[object, list[_PlacedCollider]] = {}
    closed: list[list[_PlacedCollider]] = []
    for placed in colliders:
        if not isinstance(placed.shape.shape, _COMPOUNDABLE):
            closed.append([placed])
            continue
        key = (placed.collider.material or DEFAULT_MATERIAL, placed.collider.filter)
        members = open_groups.setdefault(key, [])
        members.append(placed)
        if len(members) == COMPOUND_LIMIT:
            closed.append(open_groups.pop(key))
    groups = [*open_groups.values(), *closed]
    return tuple(
        ColliderGroup(
            shapes=tuple(member.shape for member in members),
            collider_nodes=tuple(member.collider.node for member in members),
            material=members[0].collider.material or DEFAULT_MATERIAL,
            filter=members[0].collider.filter,
        )
        for members in groups
    )
