"""A bench for joints: bodies, frames and joints written in a few lines, run in a DIRECT world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, product

import numpy as np
import pybullet

from gltf_bullet.bullet.joints.articulation_creation import create_articulations
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.joints.joint_steps import JointSteps
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import (
    DofKind,
    DriveMode,
    Joint,
    JointDescription,
    JointDrive,
    JointLimit,
    MotionKind,
)
from gltf_bullet.planning.body_plans import BodyPlan, ColliderGroup
from gltf_bullet.planning.joints.articulations import plan_articulations
from gltf_bullet.planning.shapes.shape_plans import BoxPlan, PlacedShape, SpherePlan
from gltf_bullet.transforms import (
    IDENTITY_POSE,
    Pose,
)

LINEAR, ANGULAR = DofKind.LINEAR, DofKind.ANGULAR
IDENTITY = (0.0, 0.0, 0.0, 1.0)


def lock(kind: DofKind, *axes: int, at: float = 0.0) -> JointLimit:
    return JointLimit(kind=kind, axes=axes, minimum=at, maximum=at)


def span(kind: DofKind, axes: Sequence[int] | int, low: float, high: float, **soft: float):
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    return JointLimit(kind=kind, axes=axes, minimum=low, maximum=high, **soft)


def drive(kind: DofKind, axis: int, *, acceleration: bool = False, **values: float):
    mode = DriveMode.ACCELERATION if acceleration else DriveMode.FORCE
    return JointDrive(kind=kind, axis=axis, mode=mode, **values)


BALL = (lock(LINEAR, 0, 1, 2),)


def hinge(axis: int) -> tuple[JointLimit, ...]:
    others = tuple(k for k in range(3) if k != axis)
    return (lock(LINEAR, 0, 1, 2), lock(ANGULAR, *others))


def slider(axis: int) -> tuple[JointLimit, ...]:
    others = tuple(k for k in range(3) if k != axis)
    return (lock(LINEAR, *others), lock(ANGULAR, 0, 1, 2))


def _groups(half: tuple[float, float, float] | float | None) -> tuple[ColliderGroup, ...]:
    """A box by half of its edges, or a sphere by its radius."""
    if half is None:
        return ()
    shape = SpherePlan(half) if isinstance(half, float) else BoxPlan(half)
    return (ColliderGroup(shapes=(PlacedShape(shape),), collider_nodes=()),)


@dataclass
class Bench:
    """World axes: z up. Nodes are numbered in the order in which they are added."""

    dt: float = 1.0 / 240.0
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    poses: list[Pose] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    bodies: dict[int, BodyPlan] = field(default_factory=dict)
    joints: dict[int, Joint] = field(default_factory=dict)
    moving: list[int] = field(default_factory=list)

    def body(
        self,
        position: Sequence[float],
        *,
        rotation: Sequence[float] = IDENTITY,
        mass: float = 1.0,
        inertia: Sequence[float] = (0.1, 0.1, 0.1),
        inertial: Pose = IDENTITY_POSE,
        velocity: Sequence[float] = (0.0, 0.0, 0.0),
        spin: Sequence[float] = (0.0, 0.0, 0.0),
        kind: MotionKind = MotionKind.DYNAMIC,
        half: tuple[float, float, float] | float | None = None,
        gravity_factor: float = 1.0,
    ) -> int:
        node = self.frame(-1, position, rotation)
        self.owners[node] = node
        self.bodies[node] = BodyPlan(
            node=node,
            kind=kind,
            world_from_body=self.poses[node],
            mass=mass if kind is MotionKind.DYNAMIC else 0.0,
            inertia_diagonal=tuple(inertia),
            body_from_inertial=inertial,
            linear_velocity=tuple(velocity),
            angular_velocity=tuple(spin),
            gravity_factor=gravity_factor,
            groups=_groups(half),
        )
        return node

    def frame(
        self, owner: int, position: Sequence[float], rotation: Sequence[float] = IDENTITY
    ) -> int:
        """An attachment node at a world pose, carried by ``owner`` (-1: nobody)."""
        self.poses.append(Pose(tuple(map(float, rotation)), tuple(map(float, position))))
        self.owners.append(owner)
        return len(self.poses) - 1

    def joint(
        self,
        frame_a: int,
        frame_b: int | None,
        limits: Sequence[JointLimit] = (),
        drives: Sequence[JointDrive] = (),
        *,
        enable_collision: bool = False,
    ) -> int:
        self.joints[frame_a] = Joint(
            node=frame_a,
            connected_node=frame_b,
            description=JointDescription(limits=tuple(limits), drives=tuple(drives)),
            enable_collision=enable_collision,
        )
        return frame_a

    def connect(
        self,
        owner_a: int,
        owner_b: int,
        position: Sequence[float],
        limits: Sequence[JointLimit] = (),
        drives: Sequence[JointDrive] = (),
        *,
        rotation: Sequence[float] = IDENTITY,
        position_b: Sequence[float] | None = None,
        rotation_b: Sequence[float] | None = None,
        enable_collision: bool = False,
    ) -> int:
        """A joint between two bodies (-1: the world) with frames at world poses."""
        a = self.frame(owner_a, position, rotation)
        b = self.frame(
            owner_b,
            position if position_b is None else position_b,
            rotation if rotation_b is None else rotation_b,
        )
        return self.joint(a, b, limits, drives, enable_collision=enable_collision)

    def plan(self, diagnostics: Diagnostics | None = None):
        self.diagnostics = diagnostics or Diagnostics()
        return plan_articulations(
            self.joints,
            body_plans=self.bodies,
            motion_node_of=np.array(self.owners),
            world_from_node=np.array([pose.matrix() for pose in self.poses]),
            world_rotations_xyzw=np.array([pose.rotation_xyzw for pose in self.poses]),
            linear_maps=np.tile(np.eye(3), (len(self.poses), 1, 1)),
            diagnostics=self.diagnostics,
            moving_nodes=self.moving,
        )

    def start(self) -> Bench:
        self.client = pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(*self.gravity, physicsClientId=self.client)
        pybullet.setTimeStep(self.dt, physicsClientId=self.client)
        self.time = 0.0
        plans = self.plan()
        self.art: ArticulationSet = create_articulations(
            self.client, plans, self.bodies, self.shape_id
        )
        links_of = self.art.links_of
        jointed = [
            product(*map(links_of, pair))
            for pair in sorted(plans.excluded_pairs)
            if self.art.link_of.keys() >= set(pair)
        ]
        for (a, link_a), (b, link_b) in chain(self.art.pairs_within_bodies(), *jointed):
            pybullet.setCollisionFilterPair(a, b, link_a, link_b, 0, physicsClientId=self.client)
        return self

    def shape_id(self, shapes: Sequence[PlacedShape]) -> int:
        """The engine's shape of boxes and spheres."""
        if not shapes:
            return -1
        (placed,) = shapes
        at = {"collisionFramePosition": placed.body_from_shape.translation}
        if isinstance(placed.shape, SpherePlan):
            return pybullet.createCollisionShape(
                pybullet.GEOM_SPHERE,
                radius=placed.shape.radius,
                physicsClientId=self.client,
                **at,
            )
        assert isinstance(placed.shape, BoxPlan)
        return pybullet.createCollisionShape(
            pybullet.GEOM_BOX,
            halfExtents=placed.shape.half_extents,
            physicsClientId=self.client,
            **at,
        )

    def box(self, position: Sequence[float], half: Sequence[float], mass: float = 0.0) -> int:
        """A plain PyBullet body for joints to press on."""
        shape = pybullet.createCollisionShape(
            pybullet.GEOM_BOX, halfExtents=half, physicsClientId=self.client
        )
        return pybullet.createMultiBody(
            mass, shape, basePosition=position, physicsClientId=self.client
        )

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            JointSteps([self.art]).before_step(self.dt, self.gravity)
            pybullet.stepSimulation(physicsClientId=self.client)
            self.art.after_step()
            self.art.solver.end_step()
            self.time += self.dt

    def run(self, seconds: float) -> None:
        self.step(round(seconds / self.dt))

    def pose(self, node: int) -> Pose:
        """World pose of a body or of a frame carried by one."""
        owner = self.owners[node]
        if owner not in self.art.link_of:
            return self.poses[node]
        nodes, positions, rotations = self.art.world_from_bodies()
        k = int(np.flatnonzero(nodes == owner)[0])
        world_from_body = Pose(tuple(rotations[k]), tuple(positions[k]))
        return world_from_body @ self.bodies[owner].world_from_body.inverse() @ self.poses[node]

    def position(self, node: int) -> np.ndarray:
        return np.array(self.pose(node).translation)

    def relative(self, joint: int) -> Pose:
        """Frame b in frame a, now."""
        connected = self.joints[joint].connected_node
        b = self.poses[joint] if connected is None else self.pose(connected)
        return self.pose(joint).inverse() @ b

    def energy(self) -> float:
        """Kinetic plus potential energy [J] of all jointed bodies."""
        total = 0.0
        for articulation in self.art.articulations:
            state = articulation.read()
            for frame, node in enumerate(articulation.record.frames.node):
                if node < 0:
                    continue
                mass = state.masses[frame]
                v, w = state.linear_velocity[frame], state.angular_velocity[frame]
                total += 0.5 * mass * v @ v + 0.5 * w @ state.inertia_in_world[frame] @ w
                total -= mass * np.array(self.gravity) @ state.com[frame]
        return float(total)

    def momentum(self) -> tuple[np.ndarray, np.ndarray]:
        """Linear and angular momentum of all bodies, about the origin, as the engine tells them."""
        linear, angular = np.zeros(3), np.zeros(3)
        for articulation in self.art.articulations:
            state = articulation.read()
            momenta = state.masses[:, None] * state.linear_velocity
            turning = np.einsum("fij,fj->fi", state.inertia_in_world, state.angular_velocity)
            linear += momenta.sum(axis=0)
            angular += (turning + np.cross(state.com, momenta)).sum(axis=0)
        return linear, angular

    def close(self) -> None:
        pybullet.disconnect(self.client)
