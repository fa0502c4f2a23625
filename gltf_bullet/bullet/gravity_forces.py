"""The difference between a scene's gravity and the engine's, as forces of the coming step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pybullet

from gltf_bullet.bullet.articulations import Articulations
from gltf_bullet.bullet.free_bodies import FreeBodies
from gltf_bullet.bullet.gravity_fields import GravityFields
from gltf_bullet.bullet.plan import BodyPlan
from gltf_bullet.model import MotionKind
from gltf_bullet.transforms import FloatArray, Vec3

__all__ = ["GravityForces"]


class GravityForces:
    """Applies gravity fields to the bodies of one scene."""

    def __init__(
        self,
        client_id: int,
        fields: GravityFields,
        bodies: Mapping[int, BodyPlan],
        free: FreeBodies,
        articulations: Articulations,
    ) -> None:
        self._client_id = client_id
        self._fields = fields
        self._free = free
        self._engine: Vec3 = (0.0, 0.0, 0.0)
        self._factor_of = {
            node: plan.gravity_factor
            for node, plan in bodies.items()
            if plan.kind is MotionKind.DYNAMIC
        }
        self._falling = [
            (body_id, plan)
            for body_id, plan in zip(free.ids, free.plans, strict=True)
            if plan.kind is MotionKind.DYNAMIC and plan.gravity_factor != 0.0
        ]
        if not fields.is_idle:
            # Joints must know these forces: their solve balances them.
            for component in articulations.components:
                component.field = self._changes

    def before_step(self, engine: Vec3, world_from_node: FloatArray) -> None:
        """Apply the forces.

        Args:
            engine: Gravity of the engine [m/s^2].
            world_from_node: Of all nodes now, shape [node_count, 4, 4].
        """
        if self._fields.is_idle:
            return
        self._engine = engine
        self._fields.follow(world_from_node)
        falling = [entry for entry in self._falling if entry[1].node not in self._free.gone]
        try:
            points = [
                pybullet.getBasePositionAndOrientation(body_id, self._client_id)[0]
                for body_id, _ in falling
            ]
        except pybullet.error:  # the user removed a body; the next reading notes it
            return
        if not points:
            return
        nodes = np.array([plan.node for _, plan in falling], dtype=np.intp)
        changes = self._changes(np.array(points), nodes)
        for row in np.flatnonzero(changes.any(axis=1)).tolist():
            body_id, plan = falling[row]
            pybullet.applyExternalForce(
                body_id,
                -1,
                (plan.mass * changes[row]).tolist(),
                points[row],
                pybullet.WORLD_FRAME,
                physicsClientId=self._client_id,
            )

    def _changes(self, points: FloatArray, nodes: npt.NDArray[np.intp]) -> FloatArray:
        """What bodies accelerate more than the engine knows [m/s^2], shape [k, 3]."""
        factors = np.array([self._factor_of.get(node, 0.0) for node in nodes.tolist()])
        wanted = self._fields.accelerations(points, nodes, self._engine)
        result: FloatArray = factors[:, None] * (wanted - np.array(self._engine))
        return result
