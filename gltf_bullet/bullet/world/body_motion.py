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


class BodyMotion:
    """Poses, velocities and forces of the bodies of a scene, one by one, by motion node."""

    def __init__(
        self,
        client_id: int,
        plans: Mapping[int, BodyPlan],
        link_of: Callable[[int], EngineLink],
        articulations: ArticulationSet,
        free: FreeBodies,
        targets: KinematicTargets,
    ) -> None:
        """Store the bodies.

        Args:
            client_id: The PyBullet world.
            plans: Plans of all bodies, by motion node.
            link_of: Returns the engine link of a motion node's body.
            articulations: The bodies with joints.
            free: The bodies without.
            targets: Bodies whose poses are prescribed at present.
        """
        self._client_id = client_id
        self.plans = plans
        """Plans of all bodies, by motion node."""
        self._link_of = link_of
        self._articulations = articulations
        self._free = free
        self._targets = targets

    def is_free(self, node: int) -> bool:
        """Return True if a body is not part of an articulation."""
        return node not in self._articulations.link_of

    def velocities_of(self, node: int) -> tuple[FloatArray, FloatArray]:
        """Return velocity of the centre of mass [m/s] and spin [rad/s] of a body, world axes."""
        _, _, linear, angular = link_state(self._client_id, *self._link_of(node))
        return np.array(linear), np.array(angular)

    def center_of(self, node: int) -> FloatArray:
        """Return the centre of mass of a body [m], shape [3]."""
        position, _, _, _ = link_state(self._client_id, *self._link_of(node))
        return np.array(position)

    def rotation_of(self, node: int) -> FloatArray:
        """Return world_from_body of a motion node as a rotation matrix, shape [3, 3]."""
        inertial = self.plans[node].body_from_inertial
        _, rotation, _, _ = link_state(self._client_id, *self._link_of(node))
        pose = Pose(rotation, (0.0, 0.0, 0.0)) @ inertial.inverse()
        return pose.matrix()[:3, :3]

    def velocities_in_node(self, node: int) -> tuple[Vec3, Vec3]:
        """Return velocity [m/s] and spin [rad/s] of a body in its node's axes, as in files."""
        linear, angular = self.velocities_of(node)
        node_from_world = self.rotation_of(node).T
        vx, vy, vz = (node_from_world @ linear).tolist()
        wx, wy, wz = (node_from_world @ angular).tolist()
        return (vx, vy, vz), (wx, wy, wz)

    def apply_impulse(self, node: int, linear: Sequence[float], angular: Sequence[float]) -> None:
        """Change velocities at once by an impulse [N s] and an angular one [N m s], world axes.

        Kinematic and static bodies have infinite mass and do not change.
        """
        plan: BodyPlan = self.plans[node]
        if plan.kind is not MotionKind.DYNAMIC or self._targets.is_prescribed(node):
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
        """Apply a force and a torque to a body during the coming step.

        Kinematic and static bodies have infinite mass and do not change.

        Args:
            node: Its motion node.
            force: Force at the centre of mass [N], world axes, shape [3].
            torque: Torque [N m], world axes, shape [3].
        """
        plan: BodyPlan = self.plans[node]
        if plan.kind is not MotionKind.DYNAMIC or self._targets.is_prescribed(node):
            return
        if not (np.isfinite(force).all() and np.isfinite(torque).all()):
            raise ValueError(f"force {force!r}, torque {torque!r}; must be finite")
        if not self.is_free(node):
            self._articulations.apply_force(node, force, torque)
            return
        self._free.apply_force(self._link_of(node)[0], force.tolist(), torque.tolist())

    def set_velocity(self, node: int, linear_in_node: Vec3, angular_in_node: Vec3) -> bool:
        """Set velocity [m/s] and spin [rad/s] of a free body; return False for jointed bodies.

        Raises:
            ValueError: A value exceeds the engine's limit.
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
        """Set the pose of a free body, its velocity kept; return False for jointed bodies."""
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
