"""Bodies that follow given poses: animated bodies, and colliders and kinematic bodies they carry.

A followed body is a mass-0 multibody with the velocity that reaches its next pose within the step:
contacts then see the surface move (measured: a box on it is carried along at exactly its speed).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pybullet

from gltf_bullet.bullet.state.link_states import velocity_before_turn
from gltf_bullet.transforms import (
    BoolArray,
    FloatArray,
    Pose,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
    rotation_vector_from_quat,
)

__all__ = ["KinematicBodies"]


class KinematicBodies:
    """Bases of multibodies that poses are prescribed for."""

    def __init__(self, client_id: int, ids: Sequence[int], frame_from_inertial: Sequence[Pose]):
        """Name the bodies.

        Args:
            client_id: The world.
            ids: One body per followed frame.
            frame_from_inertial: Where the engine's frame is in the followed frame.
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
        """Set velocities that bring the frames to their targets within some steps.

        Args:
            positions: Where the frames shall be after the step [m], shape [k, 3].
            rotations_xyzw: How they shall be turned, shape [k, 4].
            time_step: [s] of each.
            parts: How many they are.
            is_jump: Which are put there at once, and rest, shape [k].
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
