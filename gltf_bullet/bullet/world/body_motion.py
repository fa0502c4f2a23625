"""Poses and velocities of single bodies of a scene, read and set; never in the default step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gltf_bullet.bullet.bodies.free_bodies import FreeBodies
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.bullet.session import EngineLink
from gltf_bullet.bullet.state import (
    apply_base_impulse,
    link_state,
    set_base_pose,
    set_base_velocity,
)
from gltf_bullet.bullet.world.kinematic_targets import KinematicTargets
from gltf_bullet.model import MotionKind
from gltf_bullet.planning.body_plans import VELOCITY_CLAMP, BodyPlan
from gltf_bullet.transforms import FloatArray, Pose, Vec3

__all__ = ["BodyMotion"]


class BodyMotion:
    """Where the bodies of a scene are and how they move, one by one, by motion node."""

    def __init__(
        self,
        client_id: int,
        plans: Mapping[int, BodyPlan],
        link_of: Callable[[int], EngineLink],
        articulations: ArticulationSet,
        free: FreeBodies,
        targets: KinematicTargets,
    ) -> None:
        """Know the bodies.

        Args:
            client_id: The PyBullet world.
            plans: Of all bodies, by motion node.
            link_of: The engine link of a motion node's body.
            articulations: The jointed ones among them.
            free: The others.
            targets: Which of them follow given poses at present.
        """
        self._client_id = client_id
        self.plans = plans
        """Of all bodies, by motion node."""
        self._link_of = link_of
        self._articulations = articulations
        self._free = free
        self._targets = targets

    def is_free(self, node: int) -> bool:
        """Whether a body is no part of an articulation."""
        return node not in self._articulations.link_of

    def velocities_of(self, node: int) -> tuple[FloatArray, FloatArray]:
        """Velocity of the centre of mass [m/s] and spin [rad/s] of a body, world axes."""
        _, _, linear, angular = link_state(self._client_id, *self._link_of(node))
        return np.array(linear), np.array(angular)

    def center_of(self, node: int) -> FloatArray:
        """Where the centre of mass of a body is [m], shape [3]."""
        position, _, _, _ = link_state(self._client_id, *self._link_of(node))
        return np.array(position)

    def rotation_of(self, node: int) -> FloatArray:
        """world_from_body of a motion node as a rotation matrix, shape [3, 3]."""
        inertial = self.plans[node].body_from_inertial
        _, rotation, _, _ = link_state(self._client_id, *self._link_of(node))
        pose = Pose(rotation, (0.0, 0.0, 0.0)) @ inertial.inverse()
        return pose.matrix()[:3, :3]

    def velocities_in_node(self, node: int) -> tuple[Vec3, Vec3]:
        """Velocity [m/s] and spin [rad/s] of a body in its node's axes, as files hold them."""
        linear, angular = self.velocities_of(node)
        node_from_world = self.rotation_of(node).T
        vx, vy, vz = (node_from_world @ linear).tolist()
        wx, wy, wz = (node_from_world @ angular).tolist()
        return (vx, vy, vz), (wx, wy, wz)

    def apply_impulse(self, node: int, linear: Sequence[float], angular: Sequence[float]) -> None:
        """Change velocities at once by an impulse [N s] and an angular one [N m s], world axes.

        Kinematic and static bodies have infinite mass: nothing happens.
        """
        plan: BodyPlan = self.plans[node]
        if plan.kind is not MotionKind.DYNAMIC or self._targets.holds(node):
            return
        if not self.is_free(node):
            self._articulations.apply_impulse(node, np.array(linear), np.array(angular))
            return
        apply_base_impulse(
            self._client_id,
            self._link_of(node)[0],
            plan.mass,
            plan.inertia_diagonal,
            linear,
            angular,
        )

    def apply_force(self, node: int, force: FloatArray, torque: FloatArray) -> None:
        """Push and turn a body during the coming step.

        Kinematic and static bodies have infinite mass: nothing happens.

        Args:
            node: Its motion node.
            force: At the centre of mass [N], world axes, shape [3].
            torque: [N m], world axes, shape [3].
        """
        plan: BodyPlan = self.plans[node]
        if plan.kind is not MotionKind.DYNAMIC or self._targets.holds(node):
            return
        if not (np.isfinite(force).all() and np.isfinite(torque).all()):
            raise ValueError(f"force {force!r}, torque {torque!r}; must be finite")
        if not self.is_free(node):
            self._articulations.apply_force(node, force, torque)
            return
        self._free.push(self._link_of(node)[0], force.tolist(), torque.tolist())

    def set_velocity(self, node: int, linear_in_node: Vec3, angular_in_node: Vec3) -> bool:
        """Set a free body's velocity [m/s] and spin [rad/s]; ``False`` for links of chains.

        Raises:
            ValueError: It is beyond what the engine lets a body have.
        """
        if not self.is_free(node):
            return False
        for name, values in (("velocity", linear_in_node), ("spin", angular_in_node)):
            # Squares of larger floats overflow: hypot does not.
            if not math.hypot(*values) <= VELOCITY_CLAMP:
                raise ValueError(f"{name} {values!r}; the engine ends at {VELOCITY_CLAMP:g}")
        turn = self.rotation_of(node)
        set_base_velocity(
            self._client_id,
            self._link_of(node)[0],
            tuple((turn @ linear_in_node).tolist()),
            tuple((turn @ angular_in_node).tolist()),
        )
        return True

    def teleport(self, node: int, world_from_body: Pose) -> bool:
        """Put a free body elsewhere, its velocity kept; ``False`` for links of chains."""
        if not self.is_free(node):
            return False
        inertial = world_from_body @ self.plans[node].body_from_inertial
        set_base_pose(
            self._client_id,
            self._link_of(node)[0],
            inertial.translation,
            inertial.rotation_xyzw,
        )
        return True
