"""Noticing that animations have moved colliders, or joints' attachments, within dynamic bodies."""

from __future__ import annotations

import numpy as np

from gltf_bullet.planning.scene_plan import ScenePlan
from gltf_bullet.transforms import FloatArray, IntArray

__all__ = ["InnerWatch"]


class InnerWatch:
    """Compares where nodes are in their bodies with where they were when these were made."""

    def __init__(self, plan: ScenePlan) -> None:
        """Remember where they are in ``plan``."""
        self._nodes: IntArray = np.array([one.node for one in plan.inner], dtype=np.intp)
        self._bodies: IntArray = np.array([one.body for one in plan.inner], dtype=np.intp)
        self._tolerances = np.array([one.tolerance for one in plan.inner])
        matrices = plan.frames.world_from_node
        lengths = np.linalg.norm(matrices[self._nodes, :3, :3], axis=1)
        sizes = np.array([one.size for one in plan.inner])
        self._points = np.zeros((len(self._nodes), 4, 4))
        """Columns in the node's frame: its origin, and as far along each axis as it is large."""
        self._points[:, 3] = 1.0
        reaches = sizes[:, None] / np.maximum(lengths, 1e-12)
        for axis in range(3):
            self._points[:, axis, 1 + axis] = reaches[:, axis]
        self._built = self._in_bodies(matrices)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to watch."""
        return not len(self._nodes)

    def has_moved(self, world_from_node: FloatArray) -> bool:
        """Whether something is off by more than its tolerance.

        Args:
            world_from_node: Where all nodes stand now, shape [node_count, 4, 4].
        """
        off = self._in_bodies(world_from_node) - self._built
        in_metres = world_from_node[self._bodies, :3, :3] @ off[:, :3]
        distances = np.linalg.norm(in_metres, axis=1).max(axis=1)
        return bool((distances > self._tolerances).any())

    def _in_bodies(self, world_from_node: FloatArray) -> FloatArray:
        body_from_world = np.linalg.pinv(world_from_node[self._bodies])
        found: FloatArray = body_from_world @ world_from_node[self._nodes] @ self._points
        return found
