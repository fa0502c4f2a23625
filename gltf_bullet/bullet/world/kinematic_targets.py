"""Colliders and bodies whose poses are prescribed at present: those that an animation moves."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.free_bodies import FreeBodies
from gltf_bullet.bullet.state import (
    ZERO,
    set_base_pose,
    set_base_velocity,
    velocity_before_turn,
)
from gltf_bullet.model import MotionKind
from gltf_bullet.planning.bodies import BodyPlans
from gltf_bullet.transforms import (
    BoolArray,
    FloatArray,
    Pose,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
    rotation_vector_from_quat,
)

# --- Bodies with prescribed poses: animated ones, and colliders and kinematic bodies on them ------
#
# Such a body is a mass-0 multibody with the velocity that reaches its next pose within the step:
# contacts then see the surface move (measured: a box on it is carried along at exactly its speed).


class KinematicBodies:
    """Bases of multibodies whose poses are prescribed."""

    def __init__(self, client_id: int, ids: Sequence[int], frame_from_inertial: Sequence[Pose]):
        """Store the bodies.

        Args:
            client_id: The world.
            ids: One body per frame.
            frame_from_inertial: Pose of the engine's frame in each frame.
        """
        self._client_id = client_id
        self._ids = tuple(ids)
        self._offsets = np.array([p.translation for p in frame_from_inertial]).reshape(-1, 3)
        self._turns = np.array([p.rotation_xyzw for p in frame_from_inertial]).reshape(-1, 4)

    def drive(
        self,
        positions: FloatArray,
        rotations_xyzw: FloatArray,
        time_step: float,
        parts: int,
        is_jump: BoolArray,
    ) -> None:
        """Set the velocities that bring the frames to their targets within some steps.

        Args:
            positions: Positions of the frames after the steps [m], shape [k, 3].
            rotations_xyzw: Rotations of the frames after the steps, shape [k, 4].
            time_step: Length of each step [s].
            parts: Number of steps.
            is_jump: True for frames that are put there at once, with zero velocity, shape [k].
        """
        if not self._ids:
            return
        inertial_positions = positions + quat_rotate(rotations_xyzw, self._offsets)
        inertial_rotations = quat_multiply(rotations_xyzw, self._turns)
        poses = [
            pybullet.getBasePositionAndOrientation(body_id, self._client_id)
            for body_id in self._ids
        ]
        now = np.array([pose[0] for pose in poses])
        turned = np.array([pose[1] for pose in poses])
        linear = (inertial_positions - now) / (parts * time_step)
        angular = rotation_vector_from_quat(
            quat_multiply(inertial_rotations, quat_conjugate(turned))
        ) / (parts * time_step)
        linear[is_jump], angular[is_jump] = 0.0, 0.0
        for index in np.flatnonzero(is_jump).tolist():
            pybullet.resetBasePositionAndOrientation(
                self._ids[index],
                inertial_positions[index].tolist(),
                inertial_rotations[index].tolist(),
                physicsClientId=self._client_id,
            )
        for body_id, v, w in zip(self._ids, linear.tolist(), angular.tolist(), strict=True):
            pybullet.resetBaseVelocity(
                body_id, velocity_before_turn(v, w, time_step), w, physicsClientId=self._client_id
            )


KinematicNodes: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Nodes of static colliders, and of bodies."""

_ELSEWHERE = 1e-4
"""Distance [m], and angle [rad], from which on a collider is out of its place."""

_NOBODY = KinematicBodies(-1, [], [])


class KinematicTargets:
    """The free bodies and static colliders of a scene whose poses are prescribed."""

    def __init__(
        self,
        client_id: int,
        plan: BodyPlans,
        static_ids: Mapping[int, int],
        free: FreeBodies,
        rewrite: Callable[[int], None],
    ) -> None:
        """Begin without any.

        Args:
            client_id: The world.
            plan: Plans of all bodies of the scene.
            static_ids: Body of each static collider's node.
            free: Bodies that are no links of an articulation.
            rewrite: Writes the collision bits of a motion node's body again.
        """
        self._client_id = client_id
        self._plan = plan
        self._static_ids = static_ids
        self._free = free
        self._rewrite = rewrite
        self._id_of_body = free.id_of_node
        self._offset_of = {s.node: s.shape.body_from_shape for s in plan.statics}
        self.nodes: KinematicNodes = ((), ())
        """Nodes with prescribed poses, in the order of :meth:`set_targets`."""
        self._bodies = _NOBODY
        self.targets: tuple[FloatArray, FloatArray, BoolArray] | None = None
        """Positions, rotations and jumps for the coming step; ``None`` without targets."""

    def is_possible(self, node: int) -> bool:
        """Return True if a body's pose can be prescribed: it is no link of an articulation."""
        return node in self._id_of_body

    def is_prescribed(self, node: int) -> bool:
        """Return True if a body's pose is prescribed at present."""
        return node in self.nodes[1]

    def choose(self, static_nodes: Sequence[int], body_nodes: Sequence[int]) -> None:
        """Prescribe the poses of these static colliders and bodies from now on, and of no others.

        Released dynamic bodies keep their velocity.
        """
        if not (static_nodes or body_nodes or any(self.nodes)):
            return
        old_statics, old_bodies = map(set, self.nodes)
        released, taken = old_bodies - set(body_nodes), set(body_nodes) - old_bodies
        for node in sorted(released | taken):
            if self._plan.bodies[node].kind is MotionKind.DYNAMIC:
                self._free.set_kinematic(node, kinematic=node in taken)
                self._rewrite(node)
        for node in old_statics - set(static_nodes):
            set_base_velocity(self._client_id, self._static_ids[node], ZERO, ZERO)
        for node in released:
            plan = self._plan.bodies[node]
            if plan.kind is MotionKind.KINEMATIC:
                set_base_velocity(
                    self._client_id,
                    self._id_of_body[node],
                    plan.linear_velocity,
                    plan.angular_velocity,
                )
        self.nodes = (tuple(static_nodes), tuple(body_nodes))
        self._bodies = KinematicBodies(
            self._client_id,
            [*map(self._static_ids.__getitem__, static_nodes),
             *map(self._id_of_body.__getitem__, body_nodes)],
            [*map(self._offset_of.__getitem__, static_nodes),
             *(self._plan.bodies[node].body_from_inertial for node in body_nodes)],
        )  # fmt: skip

    def set_poses(
        self, static_nodes: Sequence[int], positions: FloatArray, rotations_xyzw: FloatArray
    ) -> None:
        """Set static colliders that are out of their places to their poses at once.

        Args:
            static_nodes: Some of those with prescribed poses.
            positions: Positions of the nodes' frames now [m], shape [k, 3].
            rotations_xyzw: Their rotations, shape [k, 4].
        """
        for node, position, rotation in zip(
            static_nodes, positions.tolist(), rotations_xyzw.tolist(), strict=True
        ):
            body_id = self._static_ids[node]
            wanted = Pose(tuple(rotation), tuple(position)) @ self._offset_of[node]
            at, turned = pybullet.getBasePositionAndOrientation(body_id, self._client_id)
            off = math.dist(at, wanted.translation)
            likeness = abs(sum(map(operator.mul, turned, wanted.rotation_xyzw)))
            if off > _ELSEWHERE or likeness < 1.0 - _ELSEWHERE**2:
                set_base_pose(self._client_id, body_id, wanted.translation, wanted.rotation_xyzw)

    def set_targets(
        self, positions: FloatArray, rotations_xyzw: FloatArray, is_jump: BoolArray
    ) -> None:
        """Set the targets of the coming step, in the order of :attr:`nodes`, statics first.

        Args:
            positions: Positions of the nodes' frames [m], shape [k, 3].
            rotations_xyzw: Their rotations, shape [k, 4].
            is_jump: True for frames that are put there at once, shape [k].
        """
        self.targets = (positions, rotations_xyzw, is_jump)

    @property
    def has_targets(self) -> bool:
        """True if the coming step has targets."""
        return self.targets is not None

    def before_step(self, time_step: float, parts: int = 1) -> None:
        """Set the velocities that reach the targets.

        Args:
            time_step: Length of the coming engine step [s].
            parts: Number of engine steps left to get there, that one included.
        """
        if self.targets is None:
            return
        positions, rotations, is_jump = self.targets
        self._bodies.drive(positions, rotations, time_step, parts, is_jump)
        self.targets = (positions, rotations, np.zeros_like(is_jump)) if parts > 1 else None
