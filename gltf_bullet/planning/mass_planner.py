"""Masses, inertias and speeds of bodies: stated, derived, or limited to what Bullet can carry.

Implements "Motions" of KHR_physics_rigid_bodies: each default and approximation is decided here.
The file is long since groups of colliders, inertial frames and masses of a body depend on each
other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from functools import lru_cache

import numpy as np
from msgspec import Struct

from gltf_bullet import number_ranges
from gltf_bullet.diagnostics import Diagnostics, note, warning
from gltf_bullet.gltf.fields import NUMBER_LIMITED
from gltf_bullet.model import DEFAULT_MATERIAL, Collider, Motion, MotionKind, PhysicsScene
from gltf_bullet.model.mass_properties import Moments, principal_inertia
from gltf_bullet.number_ranges import carried
from gltf_bullet.planning.body_plans import VELOCITY_CLAMP, BodyPlan, ColliderGroup
from gltf_bullet.planning.shapes.shape_plans import (
    BoxPlan,
    CapsulePlan,
    ConvexPartsPlan,
    CylinderPlan,
    HullPlan,
    PlacedShape,
    PointSet,
    SpherePlan,
    engine_pose,
)
from gltf_bullet.records import replace
from gltf_bullet.transforms import (
    IDENTITY_POSE,
    FloatArray,
    Pose,
    Quat,
    Vec3,
    matrices_from_quats,
    quats_from_matrices,
)

# --- Groups of colliders that may share one engine link, as one compound shape --------------------

COMPOUND_LIMIT = 16
"""Children of one compound shape; Bullet drops more silently. All hulls together count as one: they
come from one file, which has no such limit."""

_HULLS = (HullPlan, ConvexPartsPlan)
_PRIMITIVES = (BoxPlan, SpherePlan, CapsulePlan, CylinderPlan)


class PlacedCollider(Struct, frozen=True, eq=False):
    """A collider in the frame of the body that carries it."""

    collider: Collider
    shape: PlacedShape
    """In the body's frame."""
    moments: Moments
    """In the body's frame, density 1."""


def group_colliders(colliders: Iterable[PlacedCollider]) -> tuple[ColliderGroup, ...]:
    """Groups of colliders that may share a link: equal material and filter, kinds that mix."""
    open_groups: dict[object, list[PlacedCollider]] = {}
    closed: list[list[PlacedCollider]] = []
    for placed in colliders:
        if not isinstance(placed.shape.shape, (*_PRIMITIVES, *_HULLS)):
            closed.append([placed])  # triangles and planes stand alone
            continue
        key = (placed.collider.material or DEFAULT_MATERIAL, placed.collider.filter)
        members = open_groups.setdefault(key, [])
        if _is_full(members, placed):
            closed.append(open_groups.pop(key))
            members = open_groups.setdefault(key, [])
        members.append(placed)
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


def _is_full(members: list[PlacedCollider], added: PlacedCollider) -> bool:
    hulls = sum(isinstance(member.shape.shape, _HULLS) for member in (*members, added))
    return len(members) + 1 - hulls + min(hulls, 1) > COMPOUND_LIMIT


# --- Bodies of a single shape, created about the axes of that shape -------------------------------
#
# Where the frame of a shape differs from the inertial frame of its body in the last bit, PyBullet
# makes a compound of it, whose contacts are fewer and found anew (measured at 240 Hz: cylinders
# that land flat on a box from 1.5 m hop by 82 mm and topple; without compound they stay).

_NEAR = 1e-9
"""Tolerance [m], and as share of the largest moment: rounding of sums of the same numbers."""


def about_own_shape(plan: BodyPlan, *, is_stated: bool) -> BodyPlan:
    """The body with the frame of its only shape as inertial frame, if that is possible.

    ``is_stated``: the file states the moments, and an edit may replace them in place; so the axes
    must be principal for any moments. Bodies that no force moves keep the frame of their node.
    """
    if plan.mass == 0.0 or len(plan.groups) != 1 or len(plan.groups[0].shapes) != 1:
        return plan
    [group] = plan.groups
    [placed] = group.shapes
    pose, inertial = engine_pose(placed), plan.body_from_inertial
    if pose == inertial:
        return plan
    if isinstance(placed.shape, HullPlan):
        hull = _hull_in(placed.shape.vertices, placed.body_from_shape, inertial)
        return _with_shape(plan, hull)
    if not _is_near(pose.translation, inertial.translation):
        return plan
    if isinstance(placed.shape, SpherePlan):
        return _with_shape(plan, replace(placed, body_from_shape=inertial))
    if not isinstance(placed.shape, (BoxPlan, CapsulePlan, CylinderPlan)):
        return plan
    moments = principal_moments_about(pose, plan.inertia_diagonal, inertial, is_any=is_stated)
    if moments is None:
        return plan
    return replace(plan, inertia_diagonal=moments, body_from_inertial=pose)


@lru_cache(256)
def principal_moments_about(
    pose: Pose, moments: Vec3, inertial: Pose, *, is_any: bool = False
) -> Vec3 | None:
    """Principal moments about the axes of ``pose``; ``None`` where these are no principal axes.

    ``is_any``: the axes must be principal for any moments, not only for these.
    """
    if pose.rotation_xyzw == inertial.rotation_xyzw:
        return moments
    turn = _matrix(pose).T @ _matrix(inertial)
    order = np.abs(turn).argmax(axis=1).tolist()
    if np.abs(np.abs(turn).max(axis=1) - 1.0).max() < _NEAR:
        a, b, c = (moments[k] for k in order)  # the same axes, in another order
        return a, b, c
    tensor = turn @ np.diag(moments) @ turn.T
    rest = tensor - np.diag(np.diag(tensor))
    if is_any or np.abs(rest).max() > _NEAR * max(moments):
        return None
    a, b, c = np.diag(tensor).tolist()
    return a, b, c


def _matrix(pose: Pose) -> FloatArray:
    return matrices_from_quats(np.array(pose.rotation_xyzw))


def _is_near(one: Vec3, other: Vec3) -> bool:
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) <= _NEAR


def _with_shape(plan: BodyPlan, placed: PlacedShape) -> BodyPlan:
    [group] = plan.groups
    return plan.with_groups((replace(group, shapes=(placed,)),))


@lru_cache(64)
def _hull_in(vertices: PointSet, body_from_shape: Pose, inertial: Pose) -> PlacedShape:
    """A hull with its points in the inertial frame."""
    matrix = (inertial.inverse() @ body_from_shape).matrix()
    points = vertices.points @ matrix[:3, :3].T + matrix[:3, 3]
    return PlacedShape(HullPlan(PointSet(points)), inertial)


# --- Masses, moments and speeds of bodies ---------------------------------------------------------

MASS_UNDEFINED = warning(
    "MASS_UNDEFINED", "the body has neither mass nor shapes with a volume; mass 1 kg is used"
)
INERTIA_UNDEFINED = warning(
    "INERTIA_UNDEFINED",
    "the body has neither inertia nor shapes with a volume; that of a ball of radius 0.5 m is used",
)
INFINITE_AS_LARGE = note(
    "INFINITE_AS_LARGE",
    "infinite {what} stands as {value:.3g}, {factor:.0e} times the largest finite one around",
)
INERTIA_IMPOSSIBLE = warning(
    "INERTIA_IMPOSSIBLE",
    "the principal moments {a:.3g}, {b:.3g}, {c:.3g} kg m^2 belong to no body: the largest is "
    "{excess:.3g} times the sum of the others; they are used as they are",
)
MASS_RATIO_EXTREME = warning(
    "MASS_RATIO_EXTREME",
    "the mass of {mass:.3g} kg is {ratio:.1e} times the median of the scene's bodies, {median:.3g} "
    "kg; contacts and joints between such bodies are not solved reliably",
)
VELOCITY_LIMITED = warning(
    "VELOCITY_LIMITED",
    "a speed of {got:.3g} {unit} is more than the engine keeps; {allowed:.0e} {unit} is used",
)

INERTIA_LIMITED = warning(
    "INERTIA_LIMITED",
    "the principal moments of inertia are {got} kg m^2; the engine carries neither ratios above "
    "{ratio:.0e} nor moments below {smallest:.3g} for this mass; {used} are used",
)

EXTREME_RATIO = 1e6
"""Ratio of masses that is reported. The engine's solver loses a light body below a heavy one from a
ratio of 1e3 on."""

INFINITE_FACTOR = 1e9
"""An infinite mass or moment is this many times the largest finite one: a zero in its place
would stop all rotation (measured). Also the largest ratio of two finite moments of one body: at
1e18, the square root of which is lost to rounding, free bodies became NaN (measured)."""
SMALLEST_GYRATION = 1e-6
"""Smallest radius of gyration [m] that the engine carries; it bounds the moments from below."""
DEFAULT_RADIUS = 0.5
"""[m] of the ball whose inertia a body without any shape gets."""


def report_mass_ratios(
    bodies: dict[int, BodyPlan], physics: PhysicsScene, diagnostics: Diagnostics
) -> None:
    """Report masses that are too far from the others of the scene; infinite masses are intended.

    A body without colliders is held by joints alone, which multibodies solve exactly.
    """
    masses = {
        node: plan.mass
        for node, plan in bodies.items()
        if plan.mass > 0.0 and plan.groups and physics.motions[node].mass != math.inf
    }
    if len(masses) < 2:
        return
    ordered = sorted(masses.values())
    median = 0.5 * (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2])
    for node, mass in masses.items():
        if not 1.0 / EXTREME_RATIO < mass / median < EXTREME_RATIO:
            diagnostics.report(
                MASS_RATIO_EXTREME, physics.motions[node].pointer,
                mass=mass, ratio=mass / median, median=median,
            )  # fmt: skip


def largest_mass(physics: PhysicsScene) -> float:
    """The largest finite mass that the file states [kg]; 1 without any."""
    stated = (m.mass for m in physics.motions.values())
    return max((m for m in stated if m is not None and math.isfinite(m)), default=1.0)


class MassPlanner:
    """Turns motions and their colliders into body plans; equal ones are computed once."""

    def __init__(self, density: float, largest_mass: float, diagnostics: Diagnostics) -> None:
        self._density = density
        self.largest_mass = largest_mass
        self._diagnostics = diagnostics
        self._derived: dict[object, tuple[float, Vec3, Pose, Moments]] = {}

    def plan(
        self,
        node: int,
        motion: Motion,
        colliders: list[PlacedCollider],
        world_from_body: Pose,
        linear_map: FloatArray,
        apart: Collection[int] = (),
    ) -> BodyPlan:
        """The plan of one body.

        Args:
            node: The node with the motion.
            motion: The motion of the file.
            colliders: All colliders that belong to the body.
            world_from_body: Pose of the body at load.
            linear_map: Scale and shear of its node, shape [3, 3].
            apart: Collider nodes that add mass here, but are engine bodies of their own.
        """
        # Equal bodies come by the thousand: same motion, same shapes, same scale.
        key = (
            motion.kind, motion.mass, motion.center_of_mass, motion.inertia_diagonal,
            motion.inertia_orientation_xyzw, linear_map.tobytes(),
            tuple((id(c.moments), c.shape) for c in colliders),
        )  # fmt: skip
        if key not in self._derived:
            self._derived[key] = self._mass_properties(motion, colliders, linear_map)
        mass, inertia, body_from_inertial, moments = self._derived[key]
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
            groups=group_colliders(c for c in colliders if c.collider.node not in apart),
            moments=moments,
        )

    def weighed_anew(self, plan: BodyPlan, motion: Motion) -> BodyPlan | None:
        """The plan of a dynamic body with the mass and the moments of ``motion``.

        ``None`` if its principal axes would turn, since bodies are created about them.
        """
        made = plan.body_from_inertial
        mass, inertia, rotation_xyzw = self._weigh(motion, plan.moments, np.array(made.translation))
        principal = Pose(rotation_xyzw, made.translation)
        moments = principal_moments_about(made, inertia, principal)
        return None if moments is None else replace(plan, mass=mass, inertia_diagonal=moments)

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
        self, motion: Motion, colliders: list[PlacedCollider], linear_map: FloatArray
    ) -> tuple[float, Vec3, Pose, Moments]:
        """Mass, principal moments, body_from_inertial, and the moments of all colliders."""
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
            return 0.0, (0.0, 0.0, 0.0), Pose.from_translation(com), total
        mass, diagonal, rotation_xyzw = self._weigh(motion, total, center)
        return mass, diagonal, Pose(rotation_xyzw, com), total

    def _weigh(
        self, motion: Motion, total: Moments, center: FloatArray
    ) -> tuple[float, Vec3, Quat]:
        """Mass, principal moments about ``center``, and the rotation from their to body axes."""
        mass = self._mass(motion, total)
        mass = self._carried_mass(motion, mass)
        diagonal, orientation = self._inertia(motion, total, mass, center)
        diagonal = self._carried_inertia(motion, mass, diagonal)
        if orientation is None:
            return mass, diagonal, IDENTITY_POSE.rotation_xyzw
        x, y, z, w = quats_from_matrices(orientation).tolist()
        return mass, diagonal, (x, y, z, w)

    def _mass(self, motion: Motion, total: Moments) -> float:
        if motion.mass is None:
            if total.volume > 0.0:
                return self._density * total.volume
            self._diagnostics.report(MASS_UNDEFINED, motion.pointer)
            return 1.0
        if math.isfinite(motion.mass):
            return motion.mass
        value = INFINITE_FACTOR * self.largest_mass
        self._diagnostics.report(
            INFINITE_AS_LARGE, motion.pointer / "mass",
            what="mass", value=value, factor=INFINITE_FACTOR,
        )  # fmt: skip
        return value

    def _carried_mass(self, motion: Motion, mass: float) -> float:
        """The mass, limited to the engine's range if it follows from shapes; else as stated."""
        taken = carried(number_ranges.MASS, mass)
        if motion.mass is not None or taken is None or taken == mass:
            return mass
        allowed = number_ranges.MASS
        self._diagnostics.report(
            NUMBER_LIMITED, motion.pointer, key="the mass of the shapes", got=f"{mass:g}",
            allowed=f"{allowed.smallest:g} to {allowed.largest:g} kg", used=taken,
        )  # fmt: skip
        return taken

    def _carried_inertia(self, motion: Motion, mass: float, diagonal: Vec3) -> Vec3:
        stated = motion.inertia_diagonal or diagonal
        largest = max((moment for moment in stated if math.isfinite(moment)), default=0.0)
        smallest = max(mass * SMALLEST_GYRATION**2, largest / INFINITE_FACTOR)
        if min(diagonal) >= 0.999 * smallest:
            return diagonal
        a, b, c = (max(moment, smallest) for moment in diagonal)
        self._diagnostics.report(
            INERTIA_LIMITED, motion.pointer, got=_triple(diagonal), ratio=INFINITE_FACTOR,
            smallest=smallest, used=_triple((a, b, c)),
        )  # fmt: skip
        return a, b, c

    def _inertia(
        self, motion: Motion, total: Moments, mass: float, center: FloatArray
    ) -> tuple[Vec3, FloatArray | None]:
        """Principal moments about ``center`` and the rotation from principal to body axes."""
        if motion.inertia_diagonal is None:
            if total.volume > 0.0:
                # About the body's centre of mass, which the file or the dialect's default may put
                # elsewhere than the geometry's: the parallel axis theorem adds the difference.
                # Where mass is derived as well, the centre moves it along as a whole: the text
                # leaves that open, and a published test (RigidBodies_Joint_08) expects no more.
                about = total.center if motion.mass is None else center
                # The mass comes last: the axes are then the same, to the bit, for every mass.
                principal = principal_inertia(total.inertia_about(about))
                density = mass / total.volume
                a, b, c = (density * moment for moment in principal.diagonal)
                return (a, b, c), principal.orientation
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
                    a=a, b=b, c=c, excess=largest / rest if rest > 0.0 else math.inf,
                )  # fmt: skip
            return motion.inertia_diagonal, orientation
        extent = float(np.ptp(np.diag(total.second))) if total.volume > 0.0 else 0.0
        # What stands for an infinite mass is no measure: 1e18 times a finite moment is lost by
        # rounding (measured: a spin of 2 rad/s was one of 10^5 after a second).
        measure = self.largest_mass if motion.mass == math.inf else mass
        scale = max([*finite, measure * DEFAULT_RADIUS**2, extent])
        large = INFINITE_FACTOR * scale
        self._diagnostics.report(
            INFINITE_AS_LARGE, motion.pointer / "inertiaDiagonal",
            what="inertia", value=large, factor=INFINITE_FACTOR,
        )  # fmt: skip
        a, b, c = (m if math.isfinite(m) else large for m in motion.inertia_diagonal)
        return (a, b, c), orientation


def _triple(values: Vec3) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
