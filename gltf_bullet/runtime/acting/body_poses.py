"""Where single bodies stand in their parents, read alone and without arrays.

A graph asks for one node in each step; placing all nodes and taking matrices apart would cost it
twenty times as much (measured: 200 us of a cart-pole, whose step takes 10).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gltf_bullet.bullet.state.link_states import link_state
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.transforms import Pose, quats_from_matrices

__all__ = ["BodyPoses"]


class _Way(NamedTuple):
    """From the engine's frame of a body to the node in its parent."""

    parent_from_world: Pose
    """Of the parent, without its scale."""
    scale: float
    """The parent's scale in the world."""
    inertial_from_body: Pose | None
    """``None`` of links, which the engine's side knows as they are."""


class BodyPoses:
    """Places bodies of one scene that hang on nothing that moves, shears or mirrors."""

    def __init__(self, core: SceneCore) -> None:
        self._core = core
        self._ways: dict[int, _Way | None] = {}
        self._world: object = None

    def local(self, node: int) -> Pose | None:
        """Translation and rotation of a body's node in its parent; ``None``: ask elsewhere."""
        core, world = self._core, self._core.world
        if self._world is not world:
            self._ways, self._world = {}, world
        if node not in self._ways:
            self._ways[node] = self._way(node)
        way = self._ways[node]
        if way is None:
            return None
        if way.inertial_from_body is None:
            body = world.world_from_body(node)
            if body is None:
                return None
        else:
            position, rotation, _, _ = link_state(core.client_id, *world.link_of(node))
            body = Pose(rotation, position) @ way.inertial_from_body
        found = way.parent_from_world @ body
        x, y, z = found.translation
        turn = found.rotation_xyzw
        if turn[3] < 0.0:
            turn = (-turn[0], -turn[1], -turn[2], -turn[3])
        return Pose(turn, (x / way.scale, y / way.scale, z / way.scale))

    def _way(self, node: int) -> _Way | None:
        core, world = self._core, self._core.world
        tree, owner_of = core.asset.tree, world.plan.motion_node_of
        parent = int(tree.parents[node])
        if owner_of[node] != node or (tree.scales[node] <= 0.0).any():
            return None
        matrix = core.placement.matrix
        if parent >= 0:
            if owner_of[parent] >= 0 or core.followers.animator.moved[parent]:
                return None
            matrix = core.followers.place()[parent]
        linear = matrix[:3, :3]
        scale = float(np.cbrt(np.linalg.det(linear)))
        if scale <= 0.0 or not np.allclose(linear @ linear.T, scale**2 * np.eye(3), atol=1e-12):
            return None
        x, y, z, w = quats_from_matrices(linear / scale).tolist()
        tx, ty, tz = matrix[:3, 3].tolist()
        inertial = None
        if node not in world.articulations.link_of:
            inertial = world.plan.bodies.bodies[node].body_from_inertial.inverse()
        return _Way(Pose((x, y, z, w), (tx, ty, tz)).inverse(), scale, inertial)
