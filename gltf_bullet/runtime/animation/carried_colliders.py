"""What animations move within kinematic bodies: where the two together bring it.

KHR_physics_rigid_bodies, "Colliders": collider transforms are kept in sync with node transforms. A
link of a body cannot move within it, so such a collider is a body of its own, prescribed like an
animated static one; what lies on it feels the sum of both motions. So do joints whose attachment
is animated within a kinematic body.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gltf_bullet.bullet.world.engine_world import EngineWorld
from gltf_bullet.transforms import (
    BoolArray,
    FloatArray,
    IntArray,
    matrices_from_quats,
    quat_from_rotation_vector,
)

__all__ = ["CarriedColliders"]


class CarriedColliders:
    """Of one scene, and carried attachments of joints."""

    def __init__(self, world: EngineWorld) -> None:
        """Find them."""
        plan = world.plan
        carried = [static for static in plan.bodies.statics if static.owner >= 0]
        anchors = plan.articulations.moving_anchors - plan.bodies.bodies.keys()
        owners = {static.owner for static in carried}
        owners |= {int(plan.motion_node_of[anchor]) for anchor in anchors} - {-1}
        self._motion = world.motion
        self.nodes = tuple(static.node for static in carried)
        """Collider nodes."""
        self._parts = {
            owner: np.flatnonzero(plan.motion_node_of == owner) for owner in sorted(owners)
        }
        """All nodes of the bodies that carry them, or an attachment."""

    @property
    def are_any(self) -> bool:
        """Whether anything is carried."""
        return bool(self._parts)

    def ahead(
        self,
        world_from_node: FloatArray,
        simulated: BoolArray,
        time_step: float,
        leaders: Mapping[int, IntArray],
    ) -> FloatArray:
        """``world_from_node`` with the bodies that carry something where the step brings them.

        Args:
            world_from_node: Where all nodes stand now, shape [node_count, 4, 4].
            simulated: Nodes whose own velocity moves them.
            time_step: [s]
            leaders: Further bodies, and all nodes of each: those above bodies that are animated.
        """
        result = world_from_node.copy()
        for owner, nodes in {**self._parts, **leaders}.items():
            if not simulated[owner]:
                continue
            linear, angular = self._motion.velocities_of(owner)
            if not (linear.any() or angular.any()):
                continue
            center = self._motion.center_of(owner)
            step = np.eye(4)
            step[:3, :3] = matrices_from_quats(quat_from_rotation_vector(angular * time_step))
            step[:3, 3] = center + linear * time_step - step[:3, :3] @ center
            result[nodes] = step @ result[nodes]
        return result
