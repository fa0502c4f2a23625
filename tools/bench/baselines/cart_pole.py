"""The cart-pole as one writes it by hand with PyBullet: what environments are compared with."""

from __future__ import annotations

import numpy as np
import pybullet

from gltf_bullet.transforms import FloatArray

__all__ = ["BareCartPoles"]

_SLIDE, _HINGE = 0, 1


class BareCartPoles:
    """Carts of 1 kg with a pole of 0.1 kg and 1 m on a free hinge, in one world.

    Raises nothing, checks nothing: the shortest loop that does the job.
    """

    def __init__(self, client_id: int, count: int) -> None:
        self._client_id = client_id
        halves = ([0.25, 0.15, 0.1], [0.03, 0.03, 0.5])
        shapes = [
            pybullet.createCollisionShape(
                pybullet.GEOM_BOX, halfExtents=half, physicsClientId=client_id
            )
            for half in halves
        ]
        self.body_ids = [self._create(shapes) for _ in range(count)]

    def _create(self, shapes: list[int]) -> int:
        client = self._client_id
        body: int = pybullet.createMultiBody(
            baseMass=0.0,
            basePosition=[0.0, 0.0, 0.62],
            linkMasses=[1.0, 0.1],
            linkCollisionShapeIndices=shapes,
            linkVisualShapeIndices=[-1, -1],
            linkPositions=[[0.0, 0.0, 0.0], [0.0, 0.0, 0.1]],
            linkOrientations=[[0.0, 0.0, 0.0, 1.0]] * 2,
            linkInertialFramePositions=[[0.0, 0.0, 0.0], [0.0, 0.0, 0.5]],
            linkInertialFrameOrientations=[[0.0, 0.0, 0.0, 1.0]] * 2,
            linkParentIndices=[0, 1],
            linkJointTypes=[pybullet.JOINT_PRISMATIC, pybullet.JOINT_REVOLUTE],
            linkJointAxis=[[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]],
            physicsClientId=client,
        )
        for link in (_SLIDE, _HINGE):
            pybullet.setCollisionFilterGroupMask(body, link, 0, 0, physicsClientId=client)
            # Every new joint has a motor that brakes.
            pybullet.setJointMotorControl2(
                body, link, pybullet.VELOCITY_CONTROL, force=0.0, physicsClientId=client
            )
        for link in (-1, _SLIDE, _HINGE):
            pybullet.changeDynamics(
                body,
                link,
                linearDamping=0.0,
                angularDamping=0.0,
                jointDamping=0.0,
                physicsClientId=client,
            )
        return body

    def reset(self) -> FloatArray:
        """All carts in the middle, all poles upright."""
        for body in self.body_ids:
            for link in (_SLIDE, _HINGE):
                pybullet.resetJointState(body, link, 0.0, 0.0, physicsClientId=self._client_id)
        return self._read()

    def step(self, actions: FloatArray, frame_skip: int) -> FloatArray:
        """Hold forces for some engine steps.

        Args:
            actions: Of 10 N, within [-1, 1], shape [count].
            frame_skip: How many engine steps.

        Returns:
            Way [m], angle [rad] and their velocities, shape [count, 4].
        """
        client = self._client_id
        forces = (10.0 * np.clip(actions, -1.0, 1.0)).tolist()
        for _ in range(frame_skip):
            for body, force in zip(self.body_ids, forces, strict=True):
                pybullet.setJointMotorControl2(
                    body, _SLIDE, pybullet.TORQUE_CONTROL, force=force, physicsClientId=client
                )
            pybullet.stepSimulation(physicsClientId=client)
        return self._read()

    def _read(self) -> FloatArray:
        rows = []
        for body in self.body_ids:
            slide, hinge = pybullet.getJointStates(
                body, [_SLIDE, _HINGE], physicsClientId=self._client_id
            )
            rows.append([slide[0], hinge[0], slide[1], hinge[1]])
        return np.array(rows, dtype=np.float64)
