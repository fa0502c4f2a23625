"""A world's bodies as nodes, and their physics as a :class:`PhysicsScene` over those nodes.

Links are nested as they hang on each other: a joint is a node of its parent link, under its name,
and its child link is below it, so that the local transform of the child *is* the joint's position.
"""

from __future__ import annotations

import math
from typing import Any

from gltf_bullet.convert.description import (
    BallShape,
    BodyDescription,
    BoxShape,
    ConstraintDescription,
    ConstraintKind,
    JointKind,
    LinkDescription,
    LinkJointDescription,
    PlaneShape,
    RoundShape,
    ShapeGeometry,
    WorldDescription,
)
from gltf_bullet.convert.filters import collision_filters
from gltf_bullet.convert.issues import LINK_WITHOUT_MASS, NOT_IN_GLTF
from gltf_bullet.convert.surfaces import lost_of, material_of
from gltf_bullet.convert.world_nodes import WorldNodes
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.dialects.joint_extras import EXTRAS
from gltf_bullet.model import (
    Box,
    Capsule,
    Collider,
    CollisionFilter,
    Cylinder,
    DriveMode,
    Joint,
    JointDescription,
    JointDrive,
    JointLimit,
    MeshPart,
    Motion,
    MotionKind,
    Plane,
    Shape,
    Sphere,
)
from gltf_bullet.model import MeshShape as ModelMesh
from gltf_bullet.model.joints import DofKind
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Vec3, rotation_to

__all__ = ["joint_frame", "place_world"]

MASSLESS = 1e-6
"""Share of the lightest link's mass that stands for none: KHR takes 0 for infinite."""
GYRATION = 1e-3
"""[m] How far from its centre such a mass is."""

_Y_UP_FROM_Z_UP = Pose((-(0.5**0.5), 0.0, 0.0, 0.5**0.5), (0.0, 0.0, 0.0))
_AXES: tuple[Vec3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_ALIGNED = 1e-12
"""A joint axis this close to one of its frame's needs no frame of its own."""


def place_world(world: WorldDescription, diagnostics: Diagnostics) -> WorldNodes:
    """Lay out the nodes of ``world``, and its physics on them."""
    result = WorldNodes()
    upright = _Y_UP_FROM_Z_UP if world.up_axis == "z" else IDENTITY_POSE
    result.world_node = result.nodes.add("world", -1, upright)
    filters = collision_filters(world)
    for number, body in enumerate(world.bodies):
        _Placer(result, world, number, filters, diagnostics).place(body)
    for constraint in world.constraints:
        _place_constraint(result, constraint, diagnostics)
    return result


class _Placer:
    """Puts one body into the file."""

    def __init__(
        self,
        result: WorldNodes,
        world: WorldDescription,
        number: int,
        filters: dict[tuple[int, int], CollisionFilter],
        diagnostics: Diagnostics,
    ) -> None:
        self._result = result
        self._nodes = result.nodes
        self._number = number
        self._filters = filters
        self._diagnostics = diagnostics
        masses = [link.mass for link in world.bodies[number].links if link.mass > 0.0]
        self._no_mass = MASSLESS * min(masses, default=1.0)
        self._weightless: list[str] = []
        self._pointlike: list[str] = []

    def place(self, body: BodyDescription) -> None:
        """Nodes of the body's name, its links and joints."""
        parent = self._result.world_node
        base = body.links[0]
        if body.name and (len(body.links) > 1 or body.name != base.name):
            parent = self._nodes.add(body.name, parent, IDENTITY_POSE)
        for index, link in enumerate(body.links):
            if index == 0:
                node = self._nodes.add(link.name, parent, link.world_from_link)
            else:
                node = self._place_jointed(body, link)
            self._result.link_nodes[self._number, index] = node
            self._place_motion(body, index, node)
            self._place_shapes(link, index, node)
        for what, names in (("mass", self._weightless), ("inertia", self._pointlike)):
            if names:
                self._diagnostics.report(
                    LINK_WITHOUT_MASS, ROOT, what=what, count=len(names),
                    owner=body.name or "a body",
                    names=", ".join(names[:3]) + (", ..." if len(names) > 3 else ""),
                    value=self._no_mass, gyration=GYRATION,
                )  # fmt: skip

    # --- joints -------------------------------------------------------------------------------

    def _place_jointed(self, body: BodyDescription, link: LinkDescription) -> int:
        joint = link.joint
        if joint is None:
            raise ValueError(f"link {link.name!r} has a parent and no joint")
        parent_link = body.links[link.parent]
        parent = self._result.link_nodes[self._number, link.parent]
        axis, turn = _frame_of_axis(joint.axis)
        link_from_joint = Pose(turn, (0.0, 0.0, 0.0))
        parent_from_joint = joint_frame(link)
        joint_node = self._nodes.add(joint.name, parent, parent_from_joint)
        # Where the link is now, seen from the joint.
        joint_from_link = (
            parent_link.world_from_link @ parent_from_joint
        ).inverse() @ link.world_from_link
        node = self._nodes.add(link.name, joint_node, _tidy(joint_from_link))
        connected = node
        if link_from_joint != IDENTITY_POSE:
            connected = self._nodes.add(f"{joint.name} frame", node, link_from_joint)
        self._result.joints[joint_node] = Joint(
            node=joint_node, connected_node=connected, description=_describe(joint, axis)
        )
        self._note_rest(joint, joint_node)
        return node

    def _note_rest(self, joint: LinkJointDescription, joint_node: int) -> None:
        """Keep what KHR cannot say in ``extras``."""
        kept: dict[str, Any] = {}
        if joint.max_velocity > 0.0 and joint.kind is not JointKind.FIXED:
            kept["maxVelocity"] = joint.max_velocity
        if joint.friction > 0.0:
            kept["friction"] = joint.friction
        if joint.mimic is not None:
            kept["mimic"] = {
                "joint": joint.mimic.joint,
                "multiplier": joint.mimic.multiplier,
                "offset": joint.mimic.offset,
            }
            self._diagnostics.report(
                NOT_IN_GLTF, ROOT / "nodes" / joint_node, what="the mimic rule",
                owner=f"joint {joint.name!r}",
                done="it is kept in extras and acts when loaded here",
            )  # fmt: skip
        if kept:
            self._nodes.entries[joint_node]["extras"] = {EXTRAS: kept}

    # --- links --------------------------------------------------------------------------------

    def _place_motion(self, body: BodyDescription, index: int, node: int) -> None:
        link = body.links[index]
        is_base = index == 0
        at_rest = not any(link.linear_velocity) and not any(link.angular_velocity)
        if is_base and link.mass == 0.0 and at_rest:
            return  # no motion: fixed to the world, together with its colliders
        linear, angular = (
            link.world_from_link.inverse().rotate(velocity)
            for velocity in (link.linear_velocity, link.angular_velocity)
        )
        if is_base and link.mass == 0.0:
            self._result.motions[node] = Motion(
                kind=MotionKind.KINEMATIC, linear_velocity=linear, angular_velocity=angular
            )
            return
        mass, inertia = link.mass, link.inertia_diagonal
        if mass <= 0.0:
            mass = self._no_mass
            self._weightless.append(link.name)
        if not is_base and min(inertia) <= 0.0:
            # A zero on a base is infinite in Bullet as in KHR; on a link it is none (measured).
            least = mass * GYRATION**2
            inertia = (max(inertia[0], least), max(inertia[1], least), max(inertia[2], least))
            if link.mass > 0.0:
                self._pointlike.append(link.name)
        ix, iy, iz = (math.inf if moment <= 0.0 else moment for moment in inertia)
        self._result.motions[node] = Motion(
            mass=mass,
            center_of_mass=link.link_from_inertial.translation,
            inertia_diagonal=(ix, iy, iz),
            inertia_orientation_xyzw=link.link_from_inertial.rotation_xyzw,
            linear_velocity=linear,
            angular_velocity=angular,
        )

    def _place_shapes(self, link: LinkDescription, index: int, node: int) -> None:
        material = material_of(link)
        for what, done in lost_of(link):
            self._diagnostics.report(
                NOT_IN_GLTF, ROOT / "nodes" / node, what=what,
                owner=f"link {link.name!r}", done=done,
            )  # fmt: skip
        taken = False
        for k, collider in enumerate(link.colliders):
            shape, turn = self._shape(collider.shape)
            pose = _tidy(collider.link_from_shape @ turn)
            where = node
            if taken or pose != IDENTITY_POSE:
                where = self._nodes.add(f"{link.name} collider {k}".strip(), node, pose)
            taken = taken or where == node
            self._result.colliders[where] = Collider(
                node=where,
                shape=shape,
                material=material,
                filter=self._filters.get((self._number, index)),
            )
        taken = False
        for k, visual in enumerate(link.visuals):
            pose = _tidy(visual.link_from_shape)
            where = node
            if taken or pose != IDENTITY_POSE or visual.scale != (1.0, 1.0, 1.0):
                where = self._nodes.add(f"{link.name} visual {k}".strip(), node, pose)
            if visual.scale != (1.0, 1.0, 1.0):
                self._nodes.entries[where]["scale"] = list(visual.scale)
            taken = taken or where == node
            self._result.visuals.append((where, visual))

    def _shape(self, shape: ShapeGeometry) -> tuple[Shape, Pose]:
        """A shape of the model, and how it stands in the frame of Bullet's."""
        turned = _Y_UP_FROM_Z_UP.inverse()
        if isinstance(shape, BoxShape):
            return Box(size=shape.size), IDENTITY_POSE
        if isinstance(shape, BallShape):
            return Sphere(radius=shape.radius), IDENTITY_POSE
        if isinstance(shape, PlaneShape):
            plane = Plane(size_x=math.inf, size_z=math.inf, double_sided=False)
            return plane, Pose(rotation_to((0.0, 1.0, 0.0), shape.normal), (0.0, 0.0, 0.0))
        if isinstance(shape, RoundShape):
            r, height = shape.radius, shape.height
            if shape.is_capsule:
                return Capsule(mid_height=height, radius_bottom=r, radius_top=r), turned
            return Cylinder(height=height, radius_bottom=r, radius_top=r), turned
        meshes = self._result.collision_meshes
        mesh = meshes.setdefault(shape, len(meshes))
        return ModelMesh(parts=(MeshPart(mesh=mesh),), convex_hull=shape.is_convex), IDENTITY_POSE


def joint_frame(link: LinkDescription) -> Pose:
    """parent_link_from_joint: the joint is about an axis of its node's frame."""
    axis = (0.0, 0.0, 1.0) if link.joint is None else link.joint.axis
    return link.parent_from_link @ Pose(_frame_of_axis(axis)[1], (0.0, 0.0, 0.0))


def _frame_of_axis(axis: Vec3) -> tuple[int, tuple[float, float, float, float]]:
    """The axis of a joint's frame that the joint is about, and link_from_joint's rotation."""
    for k, unit in enumerate(_AXES):
        if max(abs(a - b) for a, b in zip(axis, unit, strict=True)) < _ALIGNED:
            return k, (0.0, 0.0, 0.0, 1.0)
    k = max(range(3), key=lambda k: abs(axis[k]))
    return k, rotation_to(_AXES[k], axis)


def _describe(joint: LinkJointDescription, axis: int) -> JointDescription:
    """Limits and drives; all that is not free is locked."""
    turns, slides = {
        JointKind.FIXED: ((), ()),
        JointKind.REVOLUTE: ((axis,), ()),
        JointKind.PRISMATIC: ((), (axis,)),
        JointKind.SPHERICAL: ((0, 1, 2), ()),
        JointKind.PLANAR: ((axis,), tuple(k for k in range(3) if k != axis)),
    }[joint.kind]
    limits = []
    for kind, free in ((DofKind.LINEAR, slides), (DofKind.ANGULAR, turns)):
        locked = tuple(k for k in range(3) if k not in free)
        if locked:
            limits.append(JointLimit(kind=kind, axes=locked, minimum=0.0, maximum=0.0))
    drives: list[JointDrive] = []
    if joint.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC):
        kind = DofKind.ANGULAR if joint.kind is JointKind.REVOLUTE else DofKind.LINEAR
        if joint.lower > -math.inf or joint.upper < math.inf:
            limits.append(
                JointLimit(kind=kind, axes=(axis,), minimum=joint.lower, maximum=joint.upper)
            )
        if joint.max_force > 0.0 or joint.damping > 0.0:
            drives.append(
                JointDrive(
                    kind=kind,
                    axis=axis,
                    mode=DriveMode.FORCE,
                    max_force=joint.max_force if joint.max_force > 0.0 else math.inf,
                    damping=joint.damping,
                )
            )
    return JointDescription(limits=tuple(limits), drives=tuple(drives))


def _place_constraint(
    result: WorldNodes,
    constraint: ConstraintDescription,
    diagnostics: Diagnostics,
) -> None:
    """A joint node in the parent link and an attachment node in the child link, or the world."""
    axis, turn = 0, (0.0, 0.0, 0.0, 1.0)
    if constraint.kind is ConstraintKind.PRISMATIC:
        axis, turn = _frame_of_axis(constraint.axis)
    frame = Pose(turn, (0.0, 0.0, 0.0))
    name = f"constraint {len(result.joints)}"
    ends = []
    for (body, link), link_from_frame in (
        (constraint.parent, constraint.parent_from_frame),
        (constraint.child, constraint.child_from_frame),
    ):
        owner = result.link_nodes[body, link] if body >= 0 else result.world_node
        ends.append(result.nodes.add(name, owner, _tidy(link_from_frame @ frame)))
    kind = {
        ConstraintKind.POINT: JointKind.SPHERICAL,
        ConstraintKind.FIXED: JointKind.FIXED,
        ConstraintKind.PRISMATIC: JointKind.PRISMATIC,
    }[constraint.kind]
    result.joints[ends[0]] = Joint(
        node=ends[0],
        connected_node=ends[1],
        description=_describe(LinkJointDescription(kind=kind, name=name), axis),
        # Constraints leave collisions as they are.
        enable_collision=True,
    )
    if constraint.max_force < math.inf:
        diagnostics.report(
            NOT_IN_GLTF, ROOT / "nodes" / ends[0],
            what=f"the largest force {constraint.max_force:.3g} N",
            owner="a constraint", done="the joint holds whatever comes",
        )  # fmt: skip


def _tidy(pose: Pose) -> Pose:
    """The identity where only rounding is between."""
    x, y, z, w = pose.rotation_xyzw
    if max(map(abs, (x, y, z, *pose.translation))) < 1e-15 and w > 0.0:
        return IDENTITY_POSE
    return pose
