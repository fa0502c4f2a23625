"""The difference between a scene's gravity and the engine's, as forces of the coming step."""

from __future__ import annotations

import numpy as np
import pybullet

from gltf_bullet.bullet.bodies.free_bodies import FreeBodies
from gltf_bullet.bullet.gravity.fields import GravityFields
from gltf_bullet.bullet.joints.articulation_set import ArticulationSet
from gltf_bullet.model import MotionKind
from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.transforms import FloatArray, IntArray, Vec3

__all__ = ["GravityForces", "gravity_forces"]


def gravity_forces(
    client_id: int,
    plan: ScenePlan,
    free: FreeBodies,
    articulations: ArticulationSet,
    world_from_asset_xyzw: FloatArray,
) -> GravityForces | None:
    """The file's gravity, of an asset that is turned; ``None``: it is left to the engine."""
    if plan.gravity.is_idle:
        return None
    return GravityForces(client_id, plan, world_from_asset_xyzw, free, articulations)


class GravityForces:
    """Applies gravity fields to the bodies of one scene."""

    def __init__(
        self,
        client_id: int,
        plan: ScenePlan,
        world_from_asset_xyzw: FloatArray,
        free: FreeBodies,
        articulations: ArticulationSet,
    ) -> None:
        self._client_id = client_id
        self._world_from_asset_xyzw = world_from_asset_xyzw
        self.change(plan)
        self._free = free
        self._engine: Vec3 = (0.0, 0.0, 0.0)
        self._factor_of = {
            node: body.gravity_factor
            for node, body in plan.bodies.bodies.items()
            if body.kind is MotionKind.DYNAMIC
        }
        falling = [
            (body_id, body)
            for body_id, body in zip(free.ids, free.plans, strict=True)
            if body.kind is MotionKind.DYNAMIC and body.gravity_factor != 0.0
        ]
        self._ids = [body_id for body_id, _ in falling]
        self._nodes = np.array([body.node for _, body in falling], dtype=np.intp)
        self._factors = np.array([body.gravity_factor for _, body in falling])
        self.weigh()
        # Joints must know these forces: their solve balances them.
        articulations.solver.field = self._changes_of_links

    def change(self, plan: ScenePlan) -> None:
        """Take the fields of a plan, from the next step on."""
        self._fields = GravityFields(plan.gravity, plan.frames, self._world_from_asset_xyzw)

    def weigh(self) -> None:
        """Note what the free bodies weigh, now and whenever that has changed."""
        mass_of = dict(zip(self._free.ids, (plan.mass for plan in self._free.plans), strict=True))
        self._masses = np.array([mass_of[body_id] for body_id in self._ids])

    def before_step(self, engine: Vec3, world_from_node: FloatArray) -> None:
        """Apply the forces.

        Args:
            engine: Gravity of the engine [m/s^2].
            world_from_node: Of all nodes now, shape [node_count, 4, 4].
        """
        self._engine = engine
        self._fields.follow(world_from_node)
        read, push, client_id = (
            pybullet.getBasePositionAndOrientation,
            pybullet.applyExternalForce,
            self._client_id,
        )
        # Not as of the last step: where the user has moved a body, a force would turn it.
        points = [read(body_id, client_id)[0] for body_id in self._ids]
        if not points:
            return
        changes = self._changes(np.array(points), self._nodes, self._factors)
        acting = np.flatnonzero(changes.any(axis=1))
        forces = (self._masses[acting, None] * changes[acting]).tolist()
        for row, force in zip(acting.tolist(), forces, strict=True):
            push(self._ids[row], -1, force, points[row], pybullet.WORLD_FRAME, client_id)

    def _changes_of_links(self, points: FloatArray, nodes: IntArray) -> FloatArray:
        factors = np.array([self._factor_of.get(node, 0.0) for node in nodes.tolist()])
        return self._changes(points, nodes, factors)

    def _changes(self, points: FloatArray, nodes: IntArray, factors: FloatArray) -> FloatArray:
        """What bodies accelerate more than the engine knows [m/s^2], shape [k, 3]."""
        wanted = self._fields.accelerations(points, nodes, self._engine)
        result: FloatArray = factors[:, None] * (wanted - np.array(self._engine))
        return result
