"""World frames of nodes, as stacked arrays."""

from __future__ import annotations

import numpy as np

from gltf_bullet.transforms import FloatArray, IntArray, matrices_from_quats, split_linear

__all__ = ["Frames"]

_ROUNDING = 1e-6
"""By which the squares of a rotation's numbers may miss their sum of 3."""


class Frames:
    """World frames of some nodes, without their scale."""

    def __init__(
        self, nodes: IntArray, linear_maps: FloatArray, world_from_node: FloatArray
    ) -> None:
        self._nodes = nodes
        unscale = np.linalg.pinv(linear_maps[nodes])
        is_identity = np.abs(unscale - np.eye(3)).max(initial=0.0) < 1e-12
        self._unscale: FloatArray | None = None if is_identity else unscale.astype(np.float64)
        self.positions: FloatArray = np.zeros((len(nodes), 3))
        """[m], shape [k, 3]."""
        self.rotations: FloatArray = np.zeros((len(nodes), 3, 3))
        """Rotation matrices, shape [k, 3, 3]."""
        self.move(world_from_node)

    def move(self, world_from_node: FloatArray) -> None:
        """Follow the nodes."""
        matrices = world_from_node[self._nodes]
        self.positions = matrices[:, :3, 3]
        linear = matrices[:, :3, :3]
        if self._unscale is not None:
            linear = np.matmul(linear, self._unscale)
        # What was made of a node stays as large meanwhile where an animation scales it.
        if np.abs(np.square(linear).sum(axis=(1, 2)) - 3.0).max(initial=0.0) > _ROUNDING:
            quats, _, _ = split_linear(linear)
            linear = matrices_from_quats(quats)
        self.rotations = linear
